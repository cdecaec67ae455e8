"""Compare ways to take a training step: loss, gradients and, on a GPU, time and memory.

Prints Markdown.
"""

import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.benchmark import Timer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the package kernels

# name, what holds meanwhile, and what returns the loss of the model
Way = tuple[str, AbstractContextManager, Callable[[], Tensor]]


def step(model: nn.Module, loss: Callable[[], Tensor]) -> Tensor:
    """Return the loss of one step forward and backward; the gradients are in the model."""
    model.zero_grad()
    value = loss()
    value.backward()
    return value.detach()


def step_ms(model: nn.Module, loss: Callable[[], Tensor]) -> float:
    """Return the median time of a step over two seconds, in milliseconds."""
    names = {"step": step, "model": model, "loss": loss}
    return 1e3 * Timer("step(model, loss)", globals=names).blocked_autorange(min_run_time=2).median


def lines(model: nn.Module, ways: Iterable[Way]) -> list[str]:
    """Return a line of the table for each way; the first is what the others are compared with.

    "gradients differ by": the largest difference, as a share of the largest element of the
    gradient.
    """
    made, expected = [], None
    for name, holds, loss in ways:
        with holds:
            value = step(model, loss).item()
            gradients = [p.grad.float().cpu() for p in model.parameters()]
            expected = expected or gradients
            difference = max(
                ((g - e).abs().max() / e.abs().max()).item()
                for g, e in zip(gradients, expected, strict=True)
            )
            parameter = next(model.parameters())
            cost = "not timed without a GPU"
            if parameter.is_cuda:
                torch.cuda.reset_peak_memory_stats()
                cost = f"{step_ms(model, loss):.2f} ms"
                cost += f", {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB at most"
        dtype = str(parameter.dtype).removeprefix("torch.")
        made.append(f"| {name} | {dtype} | {value:.6f} | {difference:.2e} | {cost} |")
    return made


def show(compare: Callable[[str, torch.dtype], list[str]]) -> None:
    """Print the table of ``compare(device, dtype)`` in float32 and bfloat16."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}:\n")
    print("| functions of | dtype | loss | gradients differ by | a step |")
    print("| --- | --- | --- | --- | --- |")
    for dtype in (torch.float32, torch.bfloat16):
        print("\n".join(compare(device, dtype)))
