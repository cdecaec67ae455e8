"""From samples to the row's times, controls, derived figures and flags."""

import numpy as np

from ..point import Point
from .sampling import COPY, RIVAL, TORCH, TORCH_AGAIN, VARIANT, Samples

AA_TOLERANCE = 0.01  # an A/A interval that excludes 1 by more than this flags the row
COPY_TOLERANCE = 1.02  # a rate above this share of the copy's is an error of the measurement
# Of the lines that a cold call should not find in L2. An H200 sets 3/16 of L2 aside for lines that
# are not evicted, so a kernel that keeps as much of a rotation over three L2 finds 6 % of it there.
MOST_FOUND = 0.05


def of_samples(point: Point, samples: Samples) -> dict:
    """Times, controls and derived columns."""
    own = samples.series(VARIANT)
    time_us = float(np.median(own))
    return {
        "time_us": time_us,
        "time_us_q20": np.quantile(own, 0.2),
        "time_us_q80": np.quantile(own, 0.8),
        "n_samples": samples.blocks,
        "stopped_by": samples.stopped_by,
        "copy_us": np.median(samples.series(COPY)),
        "torch_us": np.median(samples.series(TORCH)),
        **_interval("speedup", samples.ratio(TORCH, VARIANT), "speedup"),
        "of_copy": samples.ratio(COPY, VARIANT).value,
        **_interval("aa_ratio", samples.ratio(TORCH, TORCH_AGAIN), "aa"),
        # what is read, once, and the output, once
        "throughput_gbps": point.pair_bytes / time_us / 1000,
        **(_rival(point, samples) if RIVAL in samples.times_us else {}),
    }


def flags(columns: dict, beyond_cache: bool, rotation: float) -> list[str]:
    """What a reader must know before trusting the row.

    ``aa_biased``: torch against itself is off by more than 1 %. ``faster_than_copy``: the memory
    cannot do that (looked at only ``beyond_cache``, where a call's bytes exceed the cache).
    ``launch_bound``: an eager caller waits for the host, not for the kernel. ``not_cold``: the
    buffers that calls rotated over, ``rotation`` times the cache, did not exceed it, or more than
    MOST_FOUND of what was looked for in L2 was still there.
    """
    found = []
    if columns["aa_low"] > 1 + AA_TOLERANCE or columns["aa_high"] < 1 - AA_TOLERANCE:
        found.append("aa_biased")
    if beyond_cache and columns["of_copy"] > COPY_TOLERANCE:
        found.append("faster_than_copy")
    if columns.get("latency_us", 0) > columns["time_us"]:
        found.append("launch_bound")
    if rotation <= 1 or columns.get("found_in_l2", 0) > MOST_FOUND:
        found.append("not_cold")
    return found


def _rival(point: Point, samples: Samples) -> dict:
    return {
        "rival": point.rival,
        "rival_us": np.median(samples.series(RIVAL)),
        **_interval("rival_speedup", samples.ratio(RIVAL, VARIANT), "rival"),
    }


def _interval(value_column: str, interval, stem: str) -> dict:
    return {
        value_column: interval.value,
        f"{stem}_low": interval.low,
        f"{stem}_high": interval.high,
    }
