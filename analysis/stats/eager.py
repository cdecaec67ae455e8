"""Times of eager calls: who calls a kernel again and again waits for the host, or for the GPU.

A call takes the host `latency_us` and the GPU `time_us`. The host submits the next call while the
GPU runs this one, so that calls follow each other at the pace of the slower of both.
"""

from statistics import geometric_mean
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.frame import is_baseline
from analysis.schema import SIZE

INTERVAL = ["eager_speedup_low", "eager_speedup_high"]
COLUMNS = ["eager_us", "torch_eager_us", "eager_speedup", *INTERVAL]


def with_eager(points: pd.DataFrame) -> pd.DataFrame:
    """Return lines of `point_estimates` with COLUMNS; all are NaN where no eager call was timed.

    Rows before schema version 11 timed torch's eager calls in torch's own rows alone. Their ratio
    is over such a row of the size, on the same board, and has no interval. The ratio of torch to
    itself is exactly 1, as it is for the times on a GPU.
    """
    latency, baseline = points["latency_us"], is_baseline(points)
    board = [points[name] for name in (*SIZE, "gpu_uuid")]
    of_baseline = latency.where(baseline).groupby(board).transform("first")
    torch_latency = points["torch_latency_us"].fillna(of_baseline)
    eager = np.maximum(points["time_us"], latency)
    torch_eager = np.maximum(points["torch_us"], torch_latency)
    speedup = points["eager_speedup"].fillna(torch_eager / eager)
    return points.assign(
        eager_us=eager,
        torch_eager_us=torch_eager,
        eager_speedup=speedup.mask(baseline & speedup.notna(), 1.0),
        **{name: points[name].mask(baseline) for name in INTERVAL},
    )


class OverTorch(NamedTuple):
    """Compare a variant with torch where both have eager times: geometric means, and a count.

    `slower`: the sizes at which an eager call takes longer than torch's, though the kernel itself
    is faster, which takes `slower_us` at most, 0 if there is none.
    """

    sizes: int
    graph: float
    eager: float
    slower: int
    slower_us: float


def over_torch(sizes: pd.DataFrame, variant: str) -> OverTorch | None:
    """Return how much faster than torch a variant is; None without eager times.

    `sizes`: lines of `ranking.over_sweeps`.
    """
    timed = sizes[(sizes["variant"] == variant) & sizes["eager_speedup"].notna()]
    if timed.empty:
        return None
    slower = (timed["eager_speedup"] < 1) & (timed["speedup"] > 1)
    graph, eager = (geometric_mean(timed[name]) for name in ("speedup", "eager_speedup"))
    slower_us = timed.loc[slower, "time_us"].max() if slower.any() else 0.0
    return OverTorch(len(timed), graph, eager, int(slower.sum()), float(slower_us))
