"""Few long rows: a row in the registers of many blocks, up to all that are resident at once.

Idea: as ``frontier_rows`` with a cluster, but the blocks of a row meet in global memory, so that
there may be any number of them. Each loads its share at once, finds maximum and sum, leaves them,
and waits until the others of its row have; then it knows the row's, and writes its share from the
registers. While it waits, L2 takes up what it will read next; several blocks of a multiprocessor
are at different places of their work. How many blocks share a row follows from its length alone.
Bytes: 2·M·N·itemsize, the least possible.
Limits: rows of two blocks and more, up to what the registers of the GPU hold, about 2 million
float32 elements on an H200, twice that in 16 bits; compute capability 9.0. A cooperative launch:
it waits until no other kernel is in its way.
Source: our own; see ``frontier_grid`` for the meeting.
"""

import functools
from pathlib import Path

from ..contract import CLUSTERS_SINCE
from ..cuda import launch
from ..cuda.grid_workspace import MOST_PARTS
from ..cuda.nvrtc import Call, Spec
from ._tiling import LONGEST, WARP, is_apart, name, words_of

ON_REQUEST = True  # a part of ``frontier``, which is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
# k: words of a lane. w: warps of a block, at most.
FORMS = ("k4w8", "k4w16", "k8w8", "k8w16")
FORM = "k8w8"
# Of a thread: as many as it takes for so many words without a spill, by whether elements are of 32
# bits, words of a lane, and whether rows begin anywhere. Found by trying, for compute capability
# 9.0; for 10.0 those of rows that begin anywhere are sometimes too few.
REGISTERS = {
    (True, 4, False): 48,
    (True, 4, True): 80,
    (True, 8, False): 64,
    (True, 8, True): 128,
    (False, 4, False): 48,
    (False, 4, True): 64,
    (False, 8, False): 64,
    (False, 8, True): 128,
}
# A multiprocessor has four parts, each with its own warps and their registers.
PARTS, REGISTERS_OF_PART = 4, 16 * 1024
MOST_RESIDENT = 32  # blocks


def resident(call: Call, of_lane: int, warps: int, apart: bool) -> int:
    """Blocks of so many warps that a multiprocessor has at once."""
    of_thread = REGISTERS[call.dtype.itemsize == 4, of_lane, apart]
    of_part = REGISTERS_OF_PART // (of_thread * WARP)  # warps
    return min(MOST_RESIDENT, PARTS * of_part // warps)


def most_blocks(call: Call, of_lane: int, warps: int, apart: bool) -> int:
    """Blocks of a launch: all are resident at once, and each leaves a part."""
    return min(resident(call, of_lane, warps, apart) * call.gpu.processors, MOST_PARTS)


def specialise(call: Call, form: str = FORM) -> tuple[Spec, ...]:
    """The instance for a row of this length; see ``nvrtc.Specialise``."""
    of_lane, most_warps = map(int, form[1:].split("w"))
    words = words_of(call)
    shares = -(-words // (WARP * of_lane * most_warps))
    warps = -(-words // (WARP * of_lane * shares))
    # where rows begin must not decide on whether this kernel takes them
    if call.cols > LONGEST or not 2 <= shares <= most_blocks(call, of_lane, most_warps, apart=True):
        return ()  # of a single block: frontier_rows does not have to meet
    apart = is_apart(call)
    turns = -(-call.rows // (most_blocks(call, of_lane, warps, apart) // shares))
    at_once = -(-call.rows // turns)
    kernel = name("frontier_spread", call, of_lane, warps, resident(call, of_lane, warps, apart),
                  apart, log="Logarithm", normal="Normal")  # fmt: skip
    return (
        Spec(
            SOURCE,
            kernel,
            WARP * warps,
            at_once * shares,
            meets=True,
            since=CLUSTERS_SINCE,
            more=(shares,),
        ),
    )


in_form = functools.partial(launch.functions, specialise)
softmax, log_softmax, unsupported = in_form(FORM)[:3]
