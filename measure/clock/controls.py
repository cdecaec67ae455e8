"""Adapt rooflines to the buffers of an operation, and provide the rooflines of a CPU.

A roofline's call takes the matrices that it reads, then the one that it writes. ``roofline`` and
``read_meet_write`` provide those of a GPU.
"""

import torch

from operations import MEETING_ROOFLINES, ROOFLINES, Operation, as_tuple

from .base import Call

HOST_ROOFLINES: dict[str, Call] = {
    "copy": lambda x, out: out.copy_(x),
    "add": lambda x, y, out: torch.add(x, y, out=out),
    "read": lambda x: x.sum(),
}


def on_buffers(operation: Operation, roofline: str, call: Call) -> Call:
    """Return a call that takes an operation's buffers and passes the matrices to a roofline."""
    reads, writes = (ROOFLINES | MEETING_ROOFLINES)[roofline]
    read = _matrices(operation.inputs)[:reads]
    written = _matrices(operation.outputs)[:writes]

    def on_matrices(*buffers) -> None:
        outputs = as_tuple(buffers[-1])
        call(*(buffers[index] for index in read), *(outputs[index] for index in written))

    return on_matrices


def _matrices(operands) -> list[int]:
    return [index for index, operand in enumerate(operands) if operand.is_matrix]
