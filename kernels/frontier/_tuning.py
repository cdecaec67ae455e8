"""Look up the fastest of the frontier's kernels for a length of row, as a sweep measured it.

``make tuning`` writes ``tuning/<gpu>.csv`` on that GPU: the fastest variant for each dtype and N of
the sweep. Another N takes the variant of the next longer N, because that of a shorter N may need a
cluster for this N. M and the address never decide, so a row gives the same bits in any batch.
"""

import bisect
import csv
import functools
from collections.abc import Iterator
from pathlib import Path

from ..contract import DTYPES, FALLBACK_TUNING
from ..cuda.plan import VEC_BYTES, Problem
from ._tiling import is_vector_multiple

FRONTIER = Path(__file__).parent
# A literal pattern from FRONTIER on: registry.source_scan reads it, so the tables count in hashes.
TABLES = "tuning/*.csv"


def candidates(problem: Problem) -> Iterator[str]:
    """Generate the winning variants of N and of other lengths, the best guess first.

    Rows whose bytes are a multiple of a vector have other winners than all other rows. A dtype
    without winners takes those of a dtype of the same size. A GPU without winners takes those of
    another GPU of the same compute capability.
    """
    kind = str(problem.dtype).removeprefix("torch."), is_vector_multiple(problem)
    fallback = FALLBACK_TUNING.get(problem.gpu.capability, "")
    winners = _winners(problem.gpu.name, *kind) or _winners(fallback, *kind)
    longer = bisect.bisect_left(winners, (problem.cols,))
    for index in (*range(longer, len(winners)), *reversed(range(longer))):
        yield winners[index][1]


@functools.cache
def _winners(gpu: str, dtype: str, multiple: bool) -> list[tuple[int, str]]:
    """Return each (N, variant), for rows whose bytes are or are not a ``multiple`` of a vector."""
    size, same_dtype, same_size = DTYPES[dtype], {}, {}
    for path in sorted(FRONTIER.glob(TABLES)):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                N = int(row["N"])
                kind = row["gpu_name"], DTYPES[row["dtype"]], N * size % VEC_BYTES == 0
                if kind == (gpu, size, multiple):
                    (same_dtype if row["dtype"] == dtype else same_size)[N] = row["variant"]
    return sorted((same_size | same_dtype).items())
