"""Run a CUDA C++ variant without a GPU: as its own ``plan`` says, by C++ on the CPU."""

import ctypes
import functools
import hashlib
import operator
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import torch

from kernels.cuda.plan import GPUS, TYPES, LaunchPlan, Problem, scale_alignment, widest_pack

from .translate import translated

COMPILER = shutil.which("g++")
MAIN = """
#include "cuda.h"
{source}
extern "C" const char* run(void* out, const void* x, const void* y, Index out_stride,
                           Index x_stride, Index y_stride, Index rows, Index cols, unsigned blocks,
                           int threads, int cluster, Index dynamic) {{
  using In = {read_type};
  using Out = {out_type};
  readable = {{extent(static_cast<const In*>(x), x_stride, rows, cols),
               extent(static_cast<const In*>(y), y_stride, rows, cols)}};
  writable = extent(static_cast<const Out*>(out), out_stride, rows, cols);
  problem.clear();
  launch(blocks, threads, cluster, dynamic, {at_once}, [=] {{
    {kernel}(static_cast<Out*>(out), {read}, out_stride, {strides}, rows, cols{more});
  }});
  {after}
  return problem.c_str();
}}
"""
# A kernel of any arguments, each in 8 bytes as the driver gets them.
CALL = """
#include "cuda.h"
{source}{workspace}
template <typename P>
P as(const long long* bits) {{  // of a struct, the fields have 8 bytes each
  P value;
  std::memcpy(&value, bits, sizeof(P));
  return value;
}}
template <typename... P, size_t... I>
void call(void (*kernel)(P...), const long long* bits, std::index_sequence<I...>) {{
  kernel(as<P>(bits + I)...);
}}
template <typename... P>
void call(void (*kernel)(P...), const long long* bits) {{
  call(kernel, bits, std::index_sequence_for<P...>());
}}
extern "C" const char* run(long long* bits, int workspace_at, const Extent* read,
                           const Extent* written, unsigned blocks, int threads, int cluster,
                           Index dynamic) {{
  readable = {{*read}}, writable = *written;
  problem.clear();
  if (workspace_at >= 0) bits[workspace_at] = reinterpret_cast<long long>({workspace_address});
  launch(blocks, threads, cluster, dynamic, false, [=] {{ call({kernel}, bits); }});
  return problem.c_str();
}}
"""
ONE = "static_cast<const In*>(x)"  # matrix that is read
TWO = f"{ONE}, static_cast<const In*>(y)"
WORKSPACE = "\nstatic GridWorkspace workspace;"
# A launch must leave the workspace ready for the next one.
CHECK_WORKSPACE = """
  if (workspace.started) problem = "a launch that did not finish";
"""
SMALL = GPUS["sm_90"]._replace(sm_count=4)  # on which a row is soon all blocks
HERE = Path(__file__).parent
_folder: Path  # the folder of compiled code


def keep_in(folder: Path) -> None:
    """Compile into ``folder``, which the processes of one run share."""
    global _folder
    folder.mkdir(exist_ok=True)
    _folder = folder


def run(
    planner, read: Sequence[torch.Tensor], out: torch.Tensor | None = None, log: bool = False
) -> torch.Tensor:
    """Fill and return out (M, N) from (x,), or from (g, y), as ``kernels.cuda.launch`` does.

    ``out`` may be float32 where x has 16 bits, or have 16 bits where g and y are float32.
    Raises AssertionError for what cuda.h finds wrong.
    """
    x, y = read[0], read[-1]
    out = torch.full_like(x, torch.nan) if out is None else out
    matrices, dtypes = (out, x, y), (x.dtype, out.dtype)
    addresses, strides = zip(*((m.data_ptr(), m.stride(0)) for m in matrices), strict=True)
    wide = max(dtypes, key=lambda dtype: dtype.itemsize)
    narrow = min(dtypes, key=lambda dtype: dtype.itemsize) if x.dtype != out.dtype else None
    size = wide.itemsize
    aligned_as = (scale_alignment(m.data_ptr(), m.element_size(), size) for m in matrices)
    either = functools.partial(functools.reduce, operator.or_)
    pack = widest_pack(size, either(aligned_as), either(strides) | x.shape[1])
    plan = planner(Problem(wide, *x.shape, pack, log, SMALL, narrow))[0]
    shares_rows, types = plan.row_blocks > 0, tuple(TYPES[dtype] for dtype in dtypes)
    call = _library(plan.source, plan.kernel, shares_rows, plan.extra_args, len(read) > 1, types)
    launched = plan.blocks * plan.cluster, plan.threads, plan.cluster, plan.shared_bytes
    said = call(*addresses, *strides, *x.shape, *launched)
    assert said == b"", f"{plan.kernel} of {tuple(x.shape)}: {said.decode()}"
    return out


def call(plan: LaunchPlan, arguments: Sequence[int], read: range, written: range) -> None:
    """Launch a plan with these arguments, as ``kernels.cuda.submit`` does.

    ``read`` and ``written``: the addresses where vectors may be loaded, and stored. Raises
    AssertionError for what cuda.h finds wrong.
    """
    workspace_at = len(arguments) if plan.uses_workspace else -1
    values = [*arguments, *([0] if plan.uses_workspace else []), *plan.extra_args]
    bits = (ctypes.c_longlong * len(values))(*values)
    extents = [(ctypes.c_size_t * 2)(matrix.start, matrix.stop) for matrix in (read, written)]
    sizes = plan.blocks * plan.cluster, plan.threads, plan.cluster, plan.shared_bytes
    run = _caller(plan.source, plan.kernel, plan.uses_workspace)
    said = run(bits, workspace_at, *map(ctypes.byref, extents), *sizes)
    assert said == b"", f"{plan.kernel}: {said.decode()}"


@functools.cache
def _caller(source: Path, kernel: str, uses_workspace: bool):
    text = CALL.format(
        source=translated(source),
        workspace=WORKSPACE if uses_workspace else "",
        workspace_address="&workspace" if uses_workspace else "nullptr",
        kernel=kernel,
    )
    run = ctypes.CDLL(str(_compiled(text))).run
    address = ctypes.c_void_p
    run.argtypes = [address, ctypes.c_int, address, address]
    run.argtypes += [ctypes.c_uint, ctypes.c_int, ctypes.c_int, ctypes.c_longlong]
    run.restype = ctypes.c_char_p
    return run


@functools.cache
def _library(
    source: Path,
    kernel: str,
    cooperative: bool,
    extra_args: tuple[int, ...],
    two: bool,
    types: tuple[str, str],
):
    extra = [*(["&workspace"] if cooperative else []), *map(str, extra_args)]
    text = MAIN.format(
        source=translated(source) + (WORKSPACE if cooperative else ""),
        read_type=types[0],
        out_type=types[1],
        kernel=kernel,
        read=TWO if two else ONE,
        strides="x_stride, y_stride" if two else "x_stride",
        at_once=str(cooperative).lower(),
        more="".join(f", {argument}" for argument in extra),
        after=CHECK_WORKSPACE if cooperative else "",
    )
    run = ctypes.CDLL(str(_compiled(text))).run
    long = ctypes.c_longlong
    run.argtypes = [ctypes.c_void_p] * 3 + [long] * 5
    run.argtypes += [ctypes.c_uint, ctypes.c_int, ctypes.c_int, long]
    run.restype = ctypes.c_char_p
    return run


def _compiled(text: str) -> Path:
    """The library of this C++, which the first process that asks for it compiles."""
    library = _folder / f"{hashlib.sha256(text.encode()).hexdigest()}.so"
    if not library.exists():
        if not (header := _folder / "cuda.h.gch").exists():  # a third of the time that a file takes
            _compile(header, "-x", "c++-header", str(HERE / "cuda.h"))
        source = library.with_suffix(f".{os.getpid()}.cpp")
        source.write_text(text, encoding="utf-8")
        _compile(library, "-shared", f"-I{_folder}", f"-I{HERE}", str(source))
    return library


def _compile(into: Path, *words: str) -> None:
    own = into.with_suffix(f".{os.getpid()}")
    options = ["-std=c++17", "-O1", "-w", "-fPIC", "-o", str(own)]
    subprocess.run([COMPILER, *options, *words], check=True)
    own.rename(into)
