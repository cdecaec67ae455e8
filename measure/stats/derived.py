"""Compute the row's times, controls, derived figures and flags from the samples."""

import numpy as np

from ..point import Point
from .sampling import COPY, TORCH, TORCH_AGAIN, VARIANT, Samples

AA_TOLERANCE = 0.01  # an A/A interval that excludes 1 by more than this sets a flag
COPY_TOLERANCE = 1.02  # a bandwidth above this share of the copy's is a measuring error
# Share of lines that a cold call may find in L2. An H200 sets 3/16 of L2 aside for persisting
# lines, so a kernel that keeps as much of a rotation over three L2 finds 6 % of it there.
MAX_FOUND = 0.05


def of_samples(point: Point, samples: Samples) -> dict:
    """Return times, controls and derived columns."""
    own = samples.series(VARIANT)
    time_us = float(np.median(own))
    return {
        "time_us": time_us,
        "time_us_q20": np.quantile(own, 0.2),
        "time_us_q80": np.quantile(own, 0.8),
        "n_samples": samples.blocks,
        "copy_us": np.median(samples.series(COPY)),
        "torch_us": np.median(samples.series(TORCH)),
        **_interval("speedup", samples.ratio(TORCH, VARIANT), "speedup"),
        "of_copy": samples.ratio(COPY, VARIANT).value,
        **_interval("aa_ratio", samples.ratio(TORCH, TORCH_AGAIN), "aa"),
        # the inputs, read once, and the output, written once
        "throughput_gbps": point.call_bytes / time_us / 1000,
    }


def flags(columns: dict, beyond_cache: bool, rotation: float) -> list[str]:
    """Return the flags that a reader must know before trusting the row.

    ``aa_biased``: torch against itself is off by more than 1 %. ``faster_than_copy``: the memory
    cannot do that (checked only ``beyond_cache``, where a call's bytes exceed the cache).
    ``launch_bound``: an eager caller waits for the host, not for the kernel. ``not_cold``: the
    buffers of the rotation, ``rotation`` times the cache, did not exceed it, or more than
    MAX_FOUND of the sampled lines were in L2.
    """
    found = []
    if columns["aa_low"] > 1 + AA_TOLERANCE or columns["aa_high"] < 1 - AA_TOLERANCE:
        found.append("aa_biased")
    if beyond_cache and columns["of_copy"] > COPY_TOLERANCE:
        found.append("faster_than_copy")
    if columns.get("latency_us", 0) > columns["time_us"]:
        found.append("launch_bound")
    if rotation <= 1 or columns.get("found_in_l2", 0) > MAX_FOUND:
        found.append("not_cold")
    return found


def _interval(value_column: str, interval, stem: str) -> dict:
    return {
        value_column: interval.value,
        f"{stem}_low": interval.low,
        f"{stem}_high": interval.high,
    }
