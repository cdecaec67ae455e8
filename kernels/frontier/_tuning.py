"""Look up the fastest of the frontier's kernels for a length of row, as a sweep measured it.

``make tuning`` writes ``tuning/<gpu>.csv`` on that GPU: the fastest variant for each dtype and N of
the sweep. Another N takes the variant of the next longer N, because that of a shorter N may need a
cluster here. M and the address never decide, so a row gives the same bits in any batch.
"""

import csv
import functools
from pathlib import Path

from ..contract import DTYPES, STANDS_IN
from ..cuda.plan import VEC_BYTES, Problem
from ._tiling import is_vector_multiple

FOLDER = Path(__file__).parent
# A literal pattern from FOLDER on: registry.source_scan reads it, so the tables count in hashes.
TABLES = "tuning/*.csv"


def candidates(problem: Problem) -> list[str]:
    """Return the winning variants of N and of other lengths, the best guess first; [] if none.

    Rows whose bytes are a multiple of a vector have other winners than all other rows. A dtype
    without winners takes those of a dtype of the same size. A GPU without winners takes those of
    another GPU of the same compute capability.
    """
    kind = str(problem.dtype).removeprefix("torch."), is_vector_multiple(problem)
    stand_in, _ = STANDS_IN.get(problem.gpu.capability, ("", ""))
    known = _winners(problem.gpu.name, *kind) or _winners(stand_in, *kind)
    # rows as long or longer come first
    cols = problem.cols
    return [known[N] for N in sorted(known, key=lambda N: (cols > N, abs(N - cols)))]


@functools.cache
def _winners(gpu: str, dtype: str, multiple: bool) -> dict[int, str]:
    """Return N -> variant, for rows whose bytes are, or are not, a ``multiple`` of a vector."""
    size, of_dtype, of_size = DTYPES[dtype], {}, {}
    for path in sorted(FOLDER.glob(TABLES)):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                N = int(row["N"])
                kind = row["gpu_name"], DTYPES[row["dtype"]], N * size % VEC_BYTES == 0
                if kind == (gpu, size, multiple):
                    (of_dtype if row["dtype"] == dtype else of_size)[N] = row["variant"]
    return of_size | of_dtype
