"""Medians of timed blocks, with bootstrap intervals."""

from typing import NamedTuple

import numpy as np

LEVEL = 0.95
RESAMPLES = 2000  # enough that an end of the interval moves by less than a tenth of its width


class Interval(NamedTuple):
    """A median and the ends of its confidence interval."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """Return the width relative to the median."""
        return (self.high - self.low) / self.value


def median_interval(values, seed: int = 0) -> Interval:
    """Return the median of ``values`` and its 95 % bootstrap interval (percentile method).

    Resamples whole blocks with replacement (Efron and Tibshirani, "An Introduction to the
    Bootstrap", 1993). Raises ValueError for no values.
    """
    values = np.asarray(values, dtype=float)
    if values.size == 0:
        raise ValueError("no values: a median needs at least one")
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, values.size, size=(RESAMPLES, values.size))
    medians = np.median(values[picks], axis=1)
    low, high = np.quantile(medians, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(np.median(values)), float(low), float(high))


def paired_ratio(numerator, denominator, seed: int = 0) -> Interval:
    """Return the median over blocks of numerator / denominator, both (blocks,), and its interval.

    Ratios are paired, because a drift of the GPU's clocks scales both times of a block alike.
    """
    return median_interval(np.asarray(numerator) / np.asarray(denominator), seed)
