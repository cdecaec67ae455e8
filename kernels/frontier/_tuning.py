"""What a sweep on a GPU found to be the fastest of the frontier's kernels for a length of row.

``make tuning`` writes ``tuning/<gpu>.csv`` on that GPU: a row for each dtype and N that was tried,
with the variant that won there. A row of another length takes the winner of the
next longer N that can take it: what suits a shorter row may need a cluster for this one. How many
rows there are, and where they lie, is not asked, so that a row gives the same bits in any batch.
"""

import csv
import functools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..contract import DTYPES
from ..cuda.nvrtc import Call
from ._tiling import is_vector_multiple

FOLDER = Path(__file__).parent
TABLES = "tuning/*.csv"
# Whose table a GPU takes that has none of its own, by its compute capability. What an H100 would
# lose by that is in docs/frontier.md.
STANDS_IN = {(9, 0): "NVIDIA H200"}


class Winner(NamedTuple):
    """The fastest variant for rows of N elements."""

    N: int
    variant: str


def candidates(call: Call) -> Iterator[str]:
    """Winners for rows like these, the best guess first; none where no table is for such a GPU.

    Rows that are whole words of 16 bytes have winners of their own. Where the table lacks a type's,
    those of types of its size stand in, which are moved alike; where it has none of these either,
    or the GPU has no table, those of another GPU of its compute capability.
    """
    like = str(call.dtype).removeprefix("torch."), is_vector_multiple(call)
    standing_in = STANDS_IN.get(call.gpu.capability, "")
    known = _winners(call.gpu.name, *like) or _winners(standing_in, *like)

    def distance(winner: Winner) -> tuple[bool, float]:
        """First what was tried for rows as long or longer."""
        times = winner.N / call.cols
        return times < 1, abs(math.log(times))

    for winner in sorted(known, key=distance):
        yield winner.variant


@functools.cache
def _winners(gpu: str, dtype: str, whole: bool) -> tuple[Winner, ...]:
    size, own, alike = DTYPES[dtype], {}, {}
    for path in sorted(FOLDER.glob(TABLES)):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                N = int(row["N"])
                like = row["gpu_name"], DTYPES[row["dtype"]], N * size % 16 == 0
                if like == (gpu, size, whole):
                    (own if row["dtype"] == dtype else alike)[N] = Winner(N, row["variant"])
    return tuple(sorted((alike | own).values()))
