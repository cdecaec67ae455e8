"""Does the device have the memory that a point needs?"""

import kernels

from ..check import gate
from ..clock.buffers import pair_count
from ..point import Point
from ..status import Ended
from .device import Device


def check(rows: int, point: Point, device: Device) -> None:
    """Raise Ended where the device has less free than ``rows`` rows need.

    A host that is asked for too much kills a process at random: ask first.
    """
    # inputs and outputs: those of the gate, or all that are rotated over
    pairs = 1 if point.interpreted else pair_count(point.pair_bytes, device.cache_bytes)
    needed = pairs * point.pair_bytes // point.M * rows
    # one matrix as it is drawn, in float32; what is read as it is compared, rounded, and where the
    # two differ; what the audit expects
    needed += (4 + (point.reads + 1) * kernels.DTYPES[point.dtype] + 1) * rows * point.N
    if point.op == "softmax_backward":
        # On a GPU torch keeps g·y, once in each series that may be its own: variant, torch twice,
        # rival.
        needed += 4 * kernels.DTYPES[point.dtype] * rows * point.N
    # ten arrays of float64, and as many again for a gradient
    needed += 80 * point.reads * min(rows * point.N, gate.ELEMENTS_CHECKED)
    free = device.free_bytes()
    if needed > free:
        raise Ended(
            "out_of_memory",
            f"inputs, outputs and the check need {needed / 2**30:.1f} GiB; "
            f"{free / 2**30:.1f} GiB are free",
        )
