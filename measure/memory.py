"""Does the device have the memory that a point needs?"""

from . import gate
from .buffers import pair_count
from .device import Device
from .outcome import Ended
from .point import DTYPES, Point


def check(rows: int, point: Point, device: Device) -> None:
    """Raise Ended where the device has less free than ``rows`` rows need.

    A host that is asked for too much kills a process at random: ask first.
    """
    # inputs and outputs: those of the gate, or all that are rotated over
    pairs = 1 if point.interpreted else pair_count(point.pair_bytes, device.cache_bytes)
    needed = pairs * point.pair_bytes // point.M * rows
    # one matrix as it is drawn, in float32; as it is compared, rounded, and where the two differ;
    # what the audit expects
    needed += (4 + 2 * DTYPES[point.dtype] + 1) * rows * point.N
    needed += 80 * min(rows * point.N, gate.ELEMENTS_CHECKED)  # ten arrays of float64
    free = device.free_bytes()
    if needed > free:
        raise Ended(
            "out_of_memory",
            f"inputs, outputs and the check need {needed / 2**30:.1f} GiB; "
            f"{free / 2**30:.1f} GiB are free",
        )
