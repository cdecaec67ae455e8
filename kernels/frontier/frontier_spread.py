"""Few long rows: a row in the registers of many blocks, up to all that are resident at once.

Idea: as ``frontier_rows`` with a cluster, but the blocks of a row exchange maxima and sums in
global memory, so there may be any number of them. Each block loads its tile at once, publishes its
maximum and sum, and waits for those of the others; then it writes its tile from registers. While it
waits, L2 prefetches what it reads next. How many blocks share a row follows from the row's length
alone. A row that is longer than all registers has several tiles for each block: the last stays in
registers, those before it in shared memory, and the first ones are read twice.
Bytes: 2·M·N·itemsize up to what registers and shared memory of the GPU hold, about 8 million
float32 elements on an H200, twice that in 16 bits; beyond, up to half as much again, less what L2
keeps.
Limits: rows of two blocks and more; compute capability 9.0. A cooperative launch: it waits until no
other kernel is in its way.
Source: our own. Blocks poll for the maxima and sums themselves, which carry the number of their
turn.
"""

import functools
from pathlib import Path

from ..contract import CLUSTERS_SINCE
from ..cuda import launch
from ..cuda.grid_workspace import MOST_PARTS
from ..cuda.nvrtc import WORD_BYTES, Call, Spec
from ._tiling import LONGEST, OWN_BYTES, WARP, is_apart, name, words_of

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
LEAST_STREAMED = 8  # words of a lane, of rows of several tiles


# Of a thread that streams tiles, on GPUs newer than these.
REGISTERS_STREAMED = 168


def resident(call: Call, of_lane: int, warps: int, apart: bool, streamed: bool) -> int:
    """Return how many blocks of so many warps a multiprocessor has at once."""
    of_thread = REGISTERS[call.dtype.itemsize == 4, of_lane, apart or streamed]
    if streamed and call.gpu.capability > CLUSTERS_SINCE:
        of_thread = REGISTERS_STREAMED
    of_part = REGISTERS_OF_PART // (of_thread * WARP)  # warps
    return min(MOST_RESIDENT, PARTS * of_part // warps)


def most_blocks(call: Call, blocks_of_sm: int) -> int:
    """Return the blocks of a launch: all are resident at once, and each publishes a part."""
    return min(blocks_of_sm * call.gpu.processors, MOST_PARTS)


def specialise(call: Call, form: str = FORM) -> tuple[Spec, ...]:
    """The instance for a row of this length; see ``nvrtc.Specialise``."""
    of_lane, most_warps = map(int, form[1:].split("w"))
    words, apart = words_of(call), is_apart(call)
    shares = -(-words // (WARP * of_lane * most_warps))
    if call.cols > LONGEST or shares < 2:
        return ()  # frontier_rows takes the row of a single block
    # Where rows begin must not decide on the division: it is that of rows that begin anywhere.
    tiles, kept = 1, 0
    most = most_blocks(call, resident(call, of_lane, most_warps, True, False))
    if streamed := shares > most:
        blocks_of_sm = resident(call, of_lane, most_warps, True, True)
        if of_lane < LEAST_STREAMED or not blocks_of_sm:
            return ()  # registers would be spilled
        tiles = -(-shares // most_blocks(call, blocks_of_sm))
        shares = -(-shares // tiles)
    warps = -(-words // (WARP * of_lane * shares * tiles))
    blocks_of_sm = resident(call, of_lane, warps, apart, streamed)
    tile_bytes = WARP * of_lane * warps * WORD_BYTES
    if streamed:
        kept = min(tiles - 1, (call.gpu.shared_limit // blocks_of_sm - OWN_BYTES) // tile_bytes)
    turns = -(-call.rows // (most_blocks(call, blocks_of_sm) // shares))
    at_once = -(-call.rows // turns)
    kernel = name("frontier_spread", call, of_lane, warps, blocks_of_sm, apart, streamed,
                  log="LogSoftmaxEpilogue", normal="SoftmaxEpilogue")  # fmt: skip
    return (
        Spec(
            SOURCE,
            kernel,
            WARP * warps,
            at_once * shares,
            shared_bytes=kept * tile_bytes,
            meets=True,
            since=CLUSTERS_SINCE,
            more=(shares, tiles, kept),
        ),
    )


in_form = functools.partial(launch.functions, specialise)
softmax, log_softmax, unsupported = in_form(FORM)[:3]
