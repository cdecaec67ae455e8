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
from ..cuda.grid_workspace import MAX_STATES
from ..cuda.nvrtc import VEC_BYTES, Call, LaunchPlan
from ._tiling import LONGEST, OWN_BYTES, WARP, is_unaligned, name, vectors_of

ON_REQUEST = True  # a part of ``frontier``, which is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
# k: words of a lane. w: warps of a block, at most.
CONFIGS = ("k4w8", "k4w16", "k8w8", "k8w16")
DEFAULT_CONFIG = "k8w8"
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
MAX_RESIDENT = 32  # blocks
MIN_STREAMED = 8  # words of a lane, of rows of several tiles


# Of a thread that streams tiles, on GPUs newer than these.
REGISTERS_STREAMED = 168


def resident(call: Call, per_lane: int, warps: int, apart: bool, streamed: bool) -> int:
    """Return how many blocks of so many warps a multiprocessor has at once."""
    of_thread = REGISTERS[call.dtype.itemsize == 4, per_lane, apart or streamed]
    if streamed and call.gpu.capability > CLUSTERS_SINCE:
        of_thread = REGISTERS_STREAMED
    of_part = REGISTERS_OF_PART // (of_thread * WARP)  # warps
    return min(MAX_RESIDENT, PARTS * of_part // warps)


def max_blocks(call: Call, blocks_of_sm: int) -> int:
    """Return the blocks of a launch: all are resident at once, and each publishes a part."""
    return min(blocks_of_sm * call.gpu.sm_count, MAX_STATES)


def plan(call: Call, config: str = DEFAULT_CONFIG) -> tuple[LaunchPlan, ...]:
    """The instance for a row of this length; see ``nvrtc.Planner``."""
    per_lane, max_warps = map(int, config[1:].split("w"))
    words, apart = vectors_of(call), is_unaligned(call)
    shares = -(-words // (WARP * per_lane * max_warps))
    if call.cols > LONGEST or shares < 2:
        return ()  # frontier_rows takes the row of a single block
    # Where rows begin must not decide on the division: it is that of rows that begin anywhere.
    tiles, kept = 1, 0
    most = max_blocks(call, resident(call, per_lane, max_warps, True, False))
    if streamed := shares > most:
        blocks_of_sm = resident(call, per_lane, max_warps, True, True)
        if per_lane < MIN_STREAMED or not blocks_of_sm:
            return ()  # registers would be spilled
        tiles = -(-shares // max_blocks(call, blocks_of_sm))
        shares = -(-shares // tiles)
    warps = -(-words // (WARP * per_lane * shares * tiles))
    blocks_of_sm = resident(call, per_lane, warps, apart, streamed)
    tile_bytes = WARP * per_lane * warps * VEC_BYTES
    if streamed:
        kept = min(
            tiles - 1, (call.gpu.max_shared_per_block // blocks_of_sm - OWN_BYTES) // tile_bytes
        )
    turns = -(-call.rows // (max_blocks(call, blocks_of_sm) // shares))
    at_once = -(-call.rows // turns)
    kernel = name("frontier_spread", call, per_lane, warps, blocks_of_sm, apart, streamed,
                  log="LogSoftmaxEpilogue", normal="SoftmaxEpilogue")  # fmt: skip
    return (
        LaunchPlan(
            SOURCE,
            kernel,
            WARP * warps,
            at_once * shares,
            shared_bytes=kept * tile_bytes,
            cooperative=True,
            min_capability=CLUSTERS_SINCE,
            extra_args=(shares, tiles, kept),
        ),
    )


with_config = functools.partial(launch.functions, plan)
softmax, log_softmax, unsupported = with_config(DEFAULT_CONFIG)[:3]
