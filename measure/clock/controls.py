"""Provide the rooflines on a CPU; ``roofline`` provides them on a GPU."""

import torch

from .base import Call


def _copy(*buffers: torch.Tensor) -> None:
    buffers[-1].copy_(buffers[0])


def _add(*buffers: torch.Tensor) -> None:
    torch.add(buffers[0], buffers[1], out=buffers[-1])


# By the name of an operation's roofline: calls of its inputs and its output.
HOST_ROOFLINES: dict[str, Call] = {"copy": _copy, "add": _add}
