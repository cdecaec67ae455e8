"""The controls that are timed beside the variant: the baseline, torch's own operation; a rival.

The baseline is here and not in kernels/, as a part of the method.
"""

from dataclasses import replace

import torch

import kernels

from .. import status
from ..check import correctness, edge_cases
from ..device.device import Device
from ..point import Point
from .base import Call

# The functions that torch.autograd calls, and the names of their parameter for the output.
BACKWARD = {
    "softmax_backward": (torch._softmax_backward_data, "grad_input"),
    "log_softmax_backward": (torch._log_softmax_backward_data, "out"),
}


def baseline(op: str) -> Call:
    """Return torch's ``op`` over the last dimension: (x, out), or for a backward (g, y, out)."""
    if op in BACKWARD:
        function, out_name = BACKWARD[op]

        def torch_backward(g: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
            return function(g, y, -1, y.dtype, **{out_name: out})

        return torch_backward
    function = getattr(torch, op)

    def torch_forward(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return function(x, dim=-1, out=out)

    return torch_forward


def checked_rival(
    point: Point, device: Device, inputs: tuple[torch.Tensor, ...], rows: torch.Tensor
) -> tuple[Call | None, str]:
    """Return the rival's function and a remark, or None and why it is no control.

    A rival that cannot run, or is wrong, costs its own columns, never the variant's row. A rival
    that is wrong only for special values is timed, and the remark says so: its own row is not.
    """
    if not replace(point, variant=point.rival, rival=None).timed:
        return None, f"rival {point.rival}: it cannot be timed on a CPU"
    wrong = None
    try:
        rival = kernels.load(point.rival)
        call = rival.function(point.op)
        reason = rival.unsupported(inputs[0])
        reason = reason or correctness.check_call(call, inputs, rows, point.op).problem
        wrong = None if reason else edge_cases.check(point, device, call, inputs)
        if wrong and edge_cases.check(point, device, call, inputs, skip=edge_cases.SPECIAL):
            reason = wrong
    except (Exception, SystemExit) as error:
        reason = status.message_of(error)
    if reason:
        return None, f"rival {point.rival}: {reason}"
    return call, f"rival {point.rival} is timed, though wrong for {wrong}" if wrong else ""
