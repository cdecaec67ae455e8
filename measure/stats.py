"""Turn the samples of timed blocks into the columns and flags of a row.

Intervals of medians are exact, from order statistics.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from .clock.base import COPY, TORCH, TORCH_AGAIN, VARIANT
from .clock.sampling import Sample
from .inputs import ROTATION_CACHES
from .point import Point

LEVEL = 0.95
AA_TOLERANCE = 0.01  # an A/A interval that excludes 1 by more than this sets a flag
COPY_TOLERANCE = 1.02  # a bandwidth above this share of the copy's is a measuring error
# Share of lines that a cold call may find in L2. An H200 sets 3/16 of L2 aside for persisting
# lines. A kernel that keeps so much of a rotation over three L2 would find 6 % of its lines there.
MAX_FOUND = 0.05


class Interval(NamedTuple):
    """Hold a median and the ends of its confidence interval."""

    value: float
    low: float
    high: float


@functools.cache
def left_out(n: int) -> int:
    """Return how many of n sorted values the interval leaves out at either end.

    The number of independent values below their median is binomial (n, 1/2), whatever the
    distribution. So the interval between two sorted values covers the median with a known
    probability. The interval is the narrowest that reaches LEVEL; fewer than 6 values have none,
    and get their whole range. Source: David and Nagaraja, "Order Statistics", 2003, section 7.1.
    """
    tail, out = 1 / 2**n, 0  # P(no value below the median)
    while (wider := tail + math.comb(n, out + 1) / 2**n) <= (1 - LEVEL) / 2:
        tail, out = wider, out + 1
    return out


def median_interval(values) -> Interval:
    """Return the median of ``values`` and its interval. Raises ValueError for no values."""
    ordered = np.sort(np.asarray(values, dtype=float))
    if ordered.size == 0:
        raise ValueError("no values: a median needs at least one")
    out = left_out(ordered.size)
    low, high = ordered[out], ordered[ordered.size - 1 - out]
    return Interval(float(np.median(ordered)), float(low), float(high))


def paired_ratio(numerator, denominator) -> Interval:
    """Return the median over blocks of numerator / denominator, both (blocks,), and its interval.

    Ratios are paired, because a drift of the GPU's clocks scales both times of a block alike.
    """
    return median_interval(np.asarray(numerator) / np.asarray(denominator))


def derive_columns(point: Point, samples: list[Sample]) -> dict:
    """Return times, controls and derived columns."""
    times_us, torch_us, again_us, copy_us = (
        np.array([time_us for *_, series, time_us in samples if series == name])
        for name in (VARIANT, TORCH, TORCH_AGAIN, COPY)
    )
    time_us = float(np.median(times_us))
    speedup, aa = paired_ratio(torch_us, times_us), paired_ratio(torch_us, again_us)
    return {
        "time_us": time_us,
        "time_us_q20": np.quantile(times_us, 0.2),
        "time_us_q80": np.quantile(times_us, 0.8),
        "n_samples": len(times_us),
        "copy_us": np.median(copy_us),
        "torch_us": np.median(torch_us),
        "speedup": speedup.value,
        "speedup_low": speedup.low,
        "speedup_high": speedup.high,
        "of_copy": paired_ratio(copy_us, times_us).value,
        "aa_ratio": aa.value,
        "aa_low": aa.low,
        "aa_high": aa.high,
        # the inputs, read once, and the output, written once
        "throughput_gbps": point.call_bytes / time_us / 1000,
    }


def find_flags(columns: dict, call_bytes: int, calls: int, cache_bytes: int) -> list[str]:
    """Return the flags of a row with these columns, whose rotation has ``calls`` calls.

    ``aa_biased`` is only a gross check: for smaller biases the analysis widens the intervals.
    ``faster_than_copy``: only a call that exceeds the cache can prove that. ``launch_bound``: an
    eager caller waits for the host, not for the kernel.
    """
    flags = []
    if columns["aa_low"] > 1 + AA_TOLERANCE or columns["aa_high"] < 1 - AA_TOLERANCE:
        flags.append("aa_biased")
    if call_bytes > cache_bytes and columns["of_copy"] > COPY_TOLERANCE:
        flags.append("faster_than_copy")
    if columns.get("latency_us", 0) > columns["time_us"]:
        flags.append("launch_bound")
    too_few = calls * call_bytes <= ROTATION_CACHES * cache_bytes
    if too_few or columns.get("found_in_l2", 0) > MAX_FOUND:
        flags.append("not_cold")
    return flags
