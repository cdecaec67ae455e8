"""Derive columns and flags of the row from the samples."""

import numpy as np

from ..clock.base import COPY, TORCH, TORCH_AGAIN, VARIANT
from ..clock.sampling import Sample
from ..point import Point
from .interval import paired_ratio

AA_TOLERANCE = 0.01  # an A/A interval that excludes 1 by more than this sets a flag
COPY_TOLERANCE = 1.02  # a bandwidth above this share of the copy's is a measuring error
# Share of lines that a cold call may find in L2. An H200 sets 3/16 of L2 aside for persisting
# lines. A kernel that keeps so much of a rotation over three L2 would find 6 % of its lines there.
MAX_FOUND = 0.05


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
    if calls * call_bytes <= cache_bytes or columns.get("found_in_l2", 0) > MAX_FOUND:
        flags.append("not_cold")
    return flags
