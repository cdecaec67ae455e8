"""Measure the host's time of an eager call: the drop-in beside torch, QuACK, Liger and Triton.

``python -m studies.host_time`` prints a table in µs; it needs an NVIDIA GPU. The matrices are so
small that the GPU is never behind. It leaves out libraries that are not installed, or that refuse
a shape.
"""

import contextlib
import functools
import pkgutil
import statistics
import sys
import time
from collections.abc import Callable

import torch

import kernels
from kernels.terminal import replace_missing_characters

ROUNDS, CALLS = 15, 400
SHAPE, LONG = (64, 1024), (2, 400_000)  # LONG: blocks of the whole GPU share a row
NEW, WARM_UP = range(2305, 2900, 2), 20  # lengths of one kernel; the first are not timed
OTHERS = {
    "QuACK": "quack.softmax:softmax",
    "Liger": "liger_kernel.ops.softmax:LigerSoftmaxFunction.apply",
}
VARIANTS = {"ours": "frontier", "QuACK": "peer_quack", "Triton": "triton_fused"}


def seconds(call: Callable[[], object], calls: int) -> float:
    """Return the host's time of a call, the mean of so many."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - begin) / calls


def row(label: str, x: torch.Tensor, out: torch.Tensor | None = None) -> str:
    """Return a line of the table: the median over ROUNDS of each library, which take turns."""
    if out is None:
        calls = {"torch": lambda: torch.softmax(x, -1), "ours": lambda: kernels.softmax(x, -1)}
        for name, path in OTHERS.items():
            with contextlib.suppress(ImportError):
                calls[name] = functools.partial(pkgutil.resolve_name(path), x)
    else:
        calls = {"torch": lambda: torch.softmax(x, -1, out=out)}
        for name, variant in VARIANTS.items():
            with contextlib.suppress(ImportError):
                calls[name] = functools.partial(kernels.load(variant).softmax, x, out)
    for name in (*calls,):
        try:
            calls[name]()
        except RuntimeError:  # Liger refuses rows of more than 65536 columns
            del calls[name]
    rounds = [{n: seconds(call, CALLS) for n, call in calls.items()} for _ in range(ROUNDS + 1)]
    us = {name: 1e6 * statistics.median(each[name] for each in rounds[1:]) for name in calls}
    times = "  ".join(f"{name} {of:.1f}" for name, of in us.items())
    return f"{label:28} {times}  ours/torch {us['ours'] / us['torch']:.2f}"


def main() -> None:
    """Print the table. Exits with a message where there is no GPU."""
    if not torch.cuda.is_available():
        sys.exit("error: torch finds no GPU here; the host's time of a launch needs an NVIDIA GPU")
    x = torch.randn(SHAPE, device="cuda")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}: host time of a call, µs")
    print(row(f"{SHAPE}", x))
    print(row(f"{SHAPE} in bfloat16", x.bfloat16()))
    print(row(f"{SHAPE}, output given", x, torch.empty_like(x)))
    print(row(f"{SHAPE}, with gradient", x.clone().requires_grad_()))
    print(row(f"{LONG}, the whole GPU", torch.randn(LONG, device="cuda")))
    times = []
    for cols in NEW:
        x = torch.randn(64, cols, device="cuda")
        times.append([1e6 * seconds(lambda x=x: kernels.softmax(x, -1), 1) for _ in range(2)])
    first, again = map(statistics.median, zip(*times[WARM_UP:], strict=True))
    print(f"a new shape, its kernel compiled: {first:.1f}; again: {again:.1f}")


if __name__ == "__main__":
    replace_missing_characters()
    main()
