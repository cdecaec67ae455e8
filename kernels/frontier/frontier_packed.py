"""Short rows of any length, as they lie: through shared memory, where they are taken apart.

Idea: rows that are not whole words of 16 bytes begin anywhere, and lanes that load one directly
move 2 or 4 bytes at a time. But rows that lie one behind the other are one long row: a block brings
all words of a run of them, whatever rows these belong to, and only in shared memory a lane, or
several that share a row, take its elements, one by one. They keep them in registers; exp is
computed once. The results take the elements' places and leave in whole words, too, but for both
ends of the run. Rows with gaps between them are brought and taken away element by element, and
computed alike.
Bytes: 2·M·N·itemsize, the least possible.
Limits: 32 lanes of 32 elements, N up to 1024. Compute capability 8.0.
Source: our own.
"""

import functools
from pathlib import Path

from ..cuda import launch
from ..cuda.nvrtc import VEC_BYTES, Call, LaunchPlan
from ._tiling import WARP, name

ON_REQUEST = True  # a part of ``frontier``, which is measured by default

SOURCE = Path(__file__).with_suffix(".cu")
THREADS = 128  # kThreads in the source
CONFIGS = ("k8", "k16", "k32")  # k: elements of a lane, at most
DEFAULT_CONFIG = "k32"


def lanes(cols: int, most: int) -> int:
    """How many share a row, with at most ``most`` elements each."""
    return 1 << (-(-cols // most) - 1).bit_length()


def plan(call: Call, config: str = DEFAULT_CONFIG) -> tuple[LaunchPlan, ...]:
    """The instance for a row of this length; see ``nvrtc.Planner``."""
    of_row = lanes(call.cols, int(config[1:]))
    if of_row > WARP:
        return ()
    kernel = name("frontier_packed", call, -(-call.cols // of_row), of_row,
                  log="LogSoftmaxEpilogue", normal="SoftmaxEpilogue")  # fmt: skip
    rows = THREADS // of_row  # of a block
    # the words at both ends of a run belong to it in part
    words = rows * call.cols * call.dtype.itemsize // VEC_BYTES + 2
    blocks = -(-call.rows // rows)
    return (LaunchPlan(SOURCE, kernel, THREADS, blocks, shared_bytes=words * VEC_BYTES),)


with_config = functools.partial(launch.functions, plan)
softmax, log_softmax, unsupported = with_config(DEFAULT_CONFIG)[:3]
