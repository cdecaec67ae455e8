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

from kernels.cuda.plan import GPUS, LaunchPlan, Problem, scale_alignment, widest_pack

from .translate import translated

COMPILER = shutil.which("g++")
# A kernel of any arguments, each in 8 bytes as the driver gets them.
MAIN = """
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
extern "C" const char* run(long long* bits, int workspace_at, const Extent* extents, int matrices,
                           unsigned blocks, int threads, int cluster, Index dynamic,
                           bool at_once) {{
  writable = *extents, readable.assign(extents + 1, extents + matrices);
  problem.clear();
  if (workspace_at >= 0) bits[workspace_at] = reinterpret_cast<long long>({workspace_address});
  launch(blocks, threads, cluster, dynamic, at_once, [=] {{ call({kernel}, bits); }});
  {after}
  return problem.c_str();
}}
"""
WORKSPACE = "\nstatic GridWorkspace workspace;"
# A launch must leave the workspace ready for the next one.
CHECK_WORKSPACE = """
  for (unsigned arrived : workspace.arrived)
    if (arrived || (at_once && workspace.started)) problem = "a launch that did not finish";
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
    pointers, strides = zip(*((m.data_ptr(), m.stride(0)) for m in matrices), strict=True)
    wide = max(dtypes, key=lambda dtype: dtype.itemsize)
    narrow = min(dtypes, key=lambda dtype: dtype.itemsize) if x.dtype != out.dtype else None
    size = wide.itemsize
    aligned_as = (scale_alignment(m.data_ptr(), m.element_size(), size) for m in matrices)
    either = functools.partial(functools.reduce, operator.or_)
    pack = widest_pack(size, either(aligned_as), either(strides) | x.shape[1])
    plan = planner(Problem(wide, *x.shape, pack, log, SMALL, narrow))[0]
    count = 1 + len(read)  # matrices that the kernel takes
    written, *extents = (
        addresses(m.data_ptr(), m.stride(0), *m.shape, m.itemsize) for m in matrices[:count]
    )
    call(plan, (*pointers[:count], *strides[:count], *x.shape), extents, written)
    return out


def addresses(begin: int, stride: int, rows: int, cols: int, itemsize: int) -> range:
    """Return the addresses of a matrix, from its first byte to its last."""
    return range(begin, begin + ((rows - 1) * stride + cols) * itemsize)


def call(plan: LaunchPlan, arguments: Sequence[int], read: Sequence[range], written: range) -> None:
    """Launch a plan with these arguments, as ``kernels.cuda.submit`` does.

    ``read`` and ``written``: the addresses where vectors may be loaded, and stored. Raises
    AssertionError for what cuda.h finds wrong.
    """
    at_once = plan.row_blocks > 0
    needs_workspace = at_once or plan.uses_workspace
    workspace_at = len(arguments) if needs_workspace else -1
    values = [*arguments, *([0] if needs_workspace else []), *plan.extra_args]
    bits = (ctypes.c_longlong * len(values))(*values)
    ends = [end for matrix in (written, *read) for end in (matrix.start, matrix.stop)]
    extents = (ctypes.c_size_t * len(ends))(*ends)
    sizes = plan.blocks * plan.cluster, plan.threads, plan.cluster, plan.shared_bytes
    run = _library(plan.source, plan.kernel, needs_workspace)
    error_text = run(bits, workspace_at, extents, 1 + len(read), *sizes, at_once)
    assert error_text == b"", f"{plan.kernel}: {error_text.decode()}"


@functools.cache
def _library(source: Path, kernel: str, needs_workspace: bool):
    text = MAIN.format(
        source=translated(source),
        workspace=WORKSPACE if needs_workspace else "",
        workspace_address="&workspace" if needs_workspace else "nullptr",
        kernel=kernel,
        after=CHECK_WORKSPACE if needs_workspace else "",
    )
    run = ctypes.CDLL(str(_compiled(text))).run
    address, integer = ctypes.c_void_p, ctypes.c_int
    run.argtypes = [address, integer, address, integer]
    run.argtypes += [ctypes.c_uint, integer, integer, ctypes.c_longlong, ctypes.c_bool]
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
    temporary = into.with_suffix(f".{os.getpid()}")
    options = ["-std=c++17", "-O1", "-w", "-fPIC", "-o", str(temporary)]
    subprocess.run([COMPILER, *options, *words], check=True)
    temporary.rename(into)
