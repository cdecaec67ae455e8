"""Measure the host time of an eager call: the drop-in beside torch, QuACK, Liger and Triton.

``python -m studies.host_time`` takes half a minute to print a table in µs; it needs an NVIDIA GPU.
The matrices are so small that the GPU never falls behind. A time is the median of RUNS runs, in
which the libraries take turns; the range of the ratio over the runs is in brackets. Libraries that
are not installed, or that refuse a shape, are left out.
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

RUNS, ROUNDS, CALLS = 10, 5, 150
SHAPE, LONG = (64, 1024), (2, 400_000)  # the blocks of the whole GPU share a row of LONG
NEW, WARM_UP = range(2305, 2900, 2), 20  # lengths with the same kernel; the first are not counted
GOAL, GRADIENT_GOAL = 1.3, 1.6  # ratios to torch's time
LOGITS_GOAL = 1.0  # ratio to the time of what callers compose from torch's functions
OTHERS = {
    "QuACK": "quack.softmax:softmax",
    "Liger": "liger_kernel.ops.softmax:LigerSoftmaxFunction.apply",
}
VARIANTS = {"ours": "frontier", "QuACK": "peer_quack", "Triton": "triton_fused"}
Calls = dict[str, Callable[[], object]]


def seconds(call: Callable[[], object], calls: int) -> float:
    """Return the host time of a call in seconds, the mean over ``calls`` calls."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - begin) / calls


def row(label: str, goal: float | None, calls: Calls) -> None:
    """Time calls by library, and print a line of the table."""
    for name in (*calls,):
        try:
            seconds(calls[name], 3)
        except RuntimeError:  # Liger refuses rows of more than 65536 columns
            del calls[name]
    runs: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(RUNS):
        rounds = [{name: seconds(calls[name], CALLS) for name in calls} for _ in range(ROUNDS)]
        for name, medians in runs.items():
            medians.append(1e6 * statistics.median(times[name] for times in rounds))
    ratios = sorted(ours / torchs for ours, torchs in zip(runs["ours"], runs["torch"], strict=True))
    us = {name: statistics.median(medians) for name, medians in runs.items()}
    ratio = us["ours"] / us["torch"]
    verdict = "" if goal is None else f"{'met' if ratio <= goal else 'missed'} ({goal})"
    rivals = "  ".join(f"{name} {us[name]:.1f}" for name in us if name not in ("torch", "ours"))
    print(
        f"{label:46} {us['torch']:6.1f} {us['ours']:6.1f}   {ratio:.2f}"
        f" [{ratios[0]:.2f}, {ratios[-1]:.2f}]  {verdict:13} {rivals}".rstrip(),
        flush=True,
    )


def both(call: Callable[..., object], *arguments: object, op: str = "softmax") -> Calls:
    """Return ``call(function, *arguments)`` for torch's function and for the drop-in's."""
    functions = {"torch": getattr(torch, op), "ours": getattr(kernels, op)}
    return {name: functools.partial(call, f, *arguments) for name, f in functions.items()}


def forward(function: Callable, x: torch.Tensor, *dtype: torch.dtype) -> torch.Tensor:
    return function(x, -1, *dtype)


def step(function: Callable, x: torch.Tensor, g: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.autograd.grad(function(x, -1), x, g)


def of_others(x: torch.Tensor) -> Calls:
    """Return the calls of the other libraries' functions."""
    calls = {}
    for name, path in OTHERS.items():
        with contextlib.suppress(ImportError):
            calls[name] = functools.partial(pkgutil.resolve_name(path), x)
    return calls


def output_given(x: torch.Tensor) -> Calls:
    """Return calls of the benchmark's variants that write to a given tensor."""
    out = torch.empty_like(x)
    calls: Calls = {"torch": lambda: torch.softmax(x, -1, out=out)}
    for name, variant in VARIANTS.items():
        with contextlib.suppress(ImportError):
            calls[name] = functools.partial(kernels.load(variant).softmax, x, out)
    return calls


def with_gradient(label: str, x: torch.Tensor, op: str = "softmax") -> None:
    """Print the forward, the backward, and both together, for an x that requires a gradient."""
    x = x.clone().requires_grad_()
    row(f"{label}, with gradient", GRADIENT_GOAL, both(forward, x, op=op))
    outputs = {name: call() for name, call in both(forward, x, op=op).items()}
    g = torch.randn_like(outputs["torch"])
    backward = functools.partial(torch.autograd.grad, inputs=x, grad_outputs=g, retain_graph=True)
    row(f"{label}, the backward", None, {n: lambda y=y: backward(y) for n, y in outputs.items()})
    row(f"{label}, forward and backward", GRADIENT_GOAL, both(step, x, g, op=op))


def entropies_of_torch(x: torch.Tensor, index: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    log_p = torch.log_softmax(x, -1)
    return log_p.gather(-1, index[:, None])[:, 0], torch.special.entr(log_p.exp()).sum(-1)


def of_logits(x: torch.Tensor) -> None:
    """Print the functions of logits beside what callers compose from torch's."""
    index = torch.randint(x.shape[1], x.shape[:1], device=x.device)
    pairs = {
        "logsumexp": (lambda x: torch.logsumexp(x, -1), lambda x: kernels.logsumexp(x, -1)),
        "token_log_probs": (
            lambda x: torch.log_softmax(x, -1).gather(-1, index[:, None])[:, 0],
            lambda x: kernels.token_log_probs(x, index),
        ),
        "token_log_probs, entropy": (
            lambda x: entropies_of_torch(x, index),
            lambda x: kernels.token_log_probs(x, index, entropy=True),
        ),
        "cross_entropy": (
            lambda x: torch.nn.functional.cross_entropy(x, index),
            lambda x: kernels.cross_entropy(x, index),
        ),
    }
    leaf = x.clone().requires_grad_()
    for label, functions in pairs.items():
        named = dict(zip(("torch", "ours"), functions, strict=True))
        row(label, LOGITS_GOAL, {name: lambda f=f: f(x) for name, f in named.items()})

        def step_of(function):
            outputs = function(leaf)
            total = outputs if isinstance(outputs, torch.Tensor) else outputs[0] + outputs[1]
            return torch.autograd.grad(total, leaf, torch.ones_like(total))

        steps = {name: functools.partial(step_of, f) for name, f in named.items()}
        row(f"{label}, forward and backward", LOGITS_GOAL, steps)


def autocast_over_plain(x: torch.Tensor) -> float:
    """Return the drop-in's time under autocast over that without, from alternating rounds."""
    ratios, call = [], functools.partial(forward, kernels.softmax, x)
    for _ in range(RUNS * ROUNDS):
        plain = seconds(call, CALLS)
        with torch.autocast("cuda", torch.bfloat16):
            ratios.append(seconds(call, CALLS) / plain)
    return statistics.median(ratios)


def new_shapes() -> None:
    """Print the time of a shape's first call, if its kernel is compiled already, and the second."""
    times = []
    for cols in NEW:
        x = torch.randn(64, cols, device="cuda")
        times.append([1e6 * seconds(lambda x=x: kernels.softmax(x, -1), 1) for _ in range(2)])
    first, again = map(statistics.median, zip(*times[WARM_UP:], strict=True))
    print(f"a new shape, its kernel compiled: {first:.1f}; again: {again:.1f}")


def main() -> None:
    """Print the table. Exits with a message if there is no GPU."""
    if not torch.cuda.is_available():
        sys.exit("error: torch finds no GPU here; the host's time of a launch needs an NVIDIA GPU")
    x = torch.randn(SHAPE, device="cuda")
    half = x.bfloat16()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}: host time of a call, µs")
    print(f"{RUNS} runs, {SHAPE} where no shape is given; [least and most of a run]")
    print(f"{'call':46} {'torch':>6} {'ours':>6}   ours / torch        goal")
    row("float32", GOAL, both(forward, x) | of_others(x))
    row("float32, log_softmax", GOAL, both(forward, x, op="log_softmax"))
    row("bfloat16", GOAL, both(forward, half) | of_others(half))
    row("bfloat16, dtype=torch.float32", GOAL, both(forward, half, torch.float32))
    row("float32, output given", GOAL, output_given(x))
    with_gradient("float32", x)
    with_gradient("float32, log_softmax", x, "log_softmax")
    with_gradient("(64, 8192) in float32", torch.randn(64, 8192, device="cuda"))
    with torch.autocast("cuda", torch.bfloat16):
        row("bfloat16 under autocast", GOAL, both(forward, half))
        with_gradient("bfloat16 under autocast", half)
    of_logits(x)
    with kernels.replace_torch():
        rounds = [seconds(lambda: torch.softmax(x, -1), CALLS) for _ in range(RUNS * ROUNDS)]
    row(f"{LONG}, the whole GPU", 2, both(forward, torch.randn(LONG, device="cuda")))
    print(f"ours under autocast over ours in bfloat16: {autocast_over_plain(half):.2f}")
    print(f"torch.softmax in float32 under replace_torch: {1e6 * statistics.median(rounds):.1f}")
    new_shapes()


if __name__ == "__main__":
    replace_missing_characters()
    main()
