"""Run a CUDA C++ variant without a GPU: as its own ``plan`` says, by C++ on the CPU."""

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import torch

from kernels.cuda.nvrtc import GPUS, Call, Gpu, LaunchPlan, widest_pack

from .translate import translated

COMPILER = shutil.which("g++")
MAIN = """
#include "cuda.h"
{source}
extern "C" const char* run(void* out, const void* x, Index second, Index out_stride, Index x_stride,
                           Index rows, Index cols, unsigned blocks, int threads, int cluster,
                           Index dynamic) {{
  using T = {element};
  x_begin = reinterpret_cast<uintptr_t>(x);
  x_end = x_begin + (second + (rows - 1) * x_stride + cols) * sizeof(T);
  out_begin = reinterpret_cast<uintptr_t>(out);
  out_end = out_begin + ((rows - 1) * out_stride + cols) * sizeof(T);
  problem.clear();
  launch(blocks, threads, cluster, dynamic, {at_once}, [=] {{
    {kernel}(static_cast<T*>(out), {read}, out_stride, {strides}, rows, cols{more});
  }});
  {after}
  return problem.c_str();
}}
"""
ONE = "static_cast<const T*>(x)"  # matrix that is read
TWO = f"{ONE}, {ONE} + second"
# A launch must leave the workspace ready for the next one.
CHECK_WORKSPACE = """
  if (workspace.finished) problem = "a launch that did not finish";
"""
SMALL = GPUS["sm_90"]._replace(sm_count=4)  # on which a row is soon all blocks
RESIDENT = 2  # blocks, or clusters: so few that each has several rows
HERE = Path(__file__).parent
_folder: Path  # of what is compiled


def keep_in(folder: Path) -> None:
    """Compile into ``folder``, which the processes of one run share."""
    global _folder
    folder.mkdir(exist_ok=True)
    _folder = folder


def softmax(
    plan, x: torch.Tensor, out: torch.Tensor, log: bool = False, gpu: Gpu = SMALL
) -> LaunchPlan:
    """Fill out (M, N) from x (M, N) as ``kernels.cuda.launch.run`` does; what was launched.

    ``gpu`` is not there. Raises AssertionError for what cuda.h finds wrong.
    """
    rows, cols = x.shape
    pack = widest_pack(
        x.element_size(), x.data_ptr() | out.data_ptr(), x.stride(0) | out.stride(0) | cols
    )
    spec = plan(Call(x.dtype, rows, cols, pack, log, gpu))[0]
    _run(spec, x, out, second=0)
    return spec


def backward(plan, read: torch.Tensor, dx: torch.Tensor, log: bool) -> LaunchPlan:
    """Fill dx (M, N) from g and y, which are ``read`` (2, M, N); what was launched."""
    rows, cols = dx.shape
    pack = widest_pack(dx.element_size(), read.data_ptr() | dx.data_ptr(), dx.stride(0) | cols)
    spec = plan(Call(dx.dtype, rows, cols, pack, log, SMALL))[0]
    _run(spec, read[0], dx, second=read.stride(0))
    return spec


def _run(spec: LaunchPlan, x: torch.Tensor, out: torch.Tensor, second: int) -> None:
    """``second``: elements from x to another matrix that is read, 0 for none."""
    run = _library(spec.source, spec.kernel, spec.cooperative, spec.extra_args, second > 0)
    blocks = min(spec.blocks, RESIDENT) if spec.resident else spec.blocks
    said = run(
        *(out.data_ptr(), x.data_ptr(), second, out.stride(0), x.stride(0), *x.shape),
        *(blocks * spec.cluster, spec.threads, spec.cluster, spec.shared_bytes),
    )
    assert said == b"", f"{spec.kernel} of {tuple(x.shape)}: {said.decode()}"


@functools.cache
def _library(source: Path, kernel: str, cooperative: bool, extra_args: tuple[int, ...], two: bool):
    extra = [*(["&workspace"] if cooperative else []), *map(str, extra_args)]
    text = MAIN.format(
        source=translated(source) + ("\nstatic GridWorkspace workspace;" if cooperative else ""),
        element=kernel.split("<")[1].split(",")[0],
        kernel=kernel,
        read=TWO if two else ONE,
        strides="x_stride, x_stride" if two else "x_stride",
        at_once=str(cooperative).lower(),
        more="".join(f", {argument}" for argument in extra),
        after=CHECK_WORKSPACE if cooperative else "",
    )
    run = ctypes.CDLL(str(_compiled(text))).run
    long = ctypes.c_longlong
    run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, long, long, long, long, long]
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
        source.write_text(text)
        _compile(library, "-shared", f"-I{_folder}", f"-I{HERE}", str(source))
    return library


def _compile(into: Path, *words: str) -> None:
    own = into.with_suffix(f".{os.getpid()}")
    options = ["-std=c++17", "-O1", "-w", "-fPIC", "-o", str(own)]
    subprocess.run([COMPILER, *options, *words], check=True)
    own.rename(into)
