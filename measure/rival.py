"""The variant that is timed as one more control, if it may."""

from dataclasses import replace

import torch

import kernels

from . import gate, outcome, probes
from .device import Device
from .point import Point


def ready(
    point: Point, device: Device, read: tuple[torch.Tensor, ...], checked: torch.Tensor
) -> tuple:
    """(the rival's function, "") when it may stand as a control, else (None, why it may not).

    A rival that cannot run, or is wrong, costs its own columns, never the variant's row.
    """
    if not replace(point, variant=point.rival, rival=None).timed:
        return None, f"rival {point.rival}: it cannot be timed on a CPU"
    try:
        rival = kernels.load(point.rival)
        call = rival.function(point.op)
        reason = (
            rival.unsupported(read[0]) or gate.check_call(call, read, checked, point.op).problem
        )
        reason = reason or probes.check(point, device, call, read)
    except (Exception, SystemExit) as error:
        reason = outcome.message_of(error)
    return (None, f"rival {point.rival}: {reason}") if reason else (call, "")
