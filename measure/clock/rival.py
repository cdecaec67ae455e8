"""The variant that is timed as one more control, if it may."""

from dataclasses import replace

import torch

import kernels

from .. import status
from ..check import edge_cases, gate
from ..check.edge_values import SPECIAL
from ..device.device import Device
from ..point import Point


def ready(
    point: Point, device: Device, read: tuple[torch.Tensor, ...], checked: torch.Tensor
) -> tuple:
    """(the rival's function, a remark or "") when it may be a control, else (None, why it may not).

    A rival that cannot run, or is wrong, costs its own columns, never the variant's row. One that
    is wrong for special values alone is timed, and the remark says so: its own row is not.
    """
    if not replace(point, variant=point.rival, rival=None).timed:
        return None, f"rival {point.rival}: it cannot be timed on a CPU"
    try:
        rival = kernels.load(point.rival)
        call = rival.function(point.op)
        reason = (
            rival.unsupported(read[0]) or gate.check_call(call, read, checked, point.op).problem
        )
        wrong = None if reason else edge_cases.check(point, device, call, read)
        if wrong and edge_cases.check(point, device, call, read, but=SPECIAL):
            reason = wrong
    except (Exception, SystemExit) as error:
        reason = status.message_of(error)
    if reason:
        return None, f"rival {point.rival}: {reason}"
    return call, f"rival {point.rival} is timed, though wrong for {wrong}" if wrong else ""
