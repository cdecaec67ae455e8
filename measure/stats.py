"""Compute medians and paired ratios with exact confidence intervals, from order statistics."""

import functools
import math
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """Hold a median and the ends of its confidence interval."""

    value: float
    low: float
    high: float


@functools.cache
def left_out(n: int) -> int:
    """Return how many of n sorted values a median's interval leaves out at either end.

    How many independent values lie below their distribution's median is binomial (n, 1/2), whatever
    the distribution, so any two order statistics cover it with a known probability. The interval is
    the narrowest that reaches CONFIDENCE; fewer than 6 values get their whole range. Source: David
    and Nagaraja, "Order Statistics", 2003, section 7.1.
    """
    tail, out = 1 / 2**n, 0  # P(no value below the median)
    while (wider := tail + math.comb(n, out + 1) / 2**n) <= (1 - CONFIDENCE) / 2:
        tail, out = wider, out + 1
    return out


def median_interval(values) -> Interval:
    """Return the median of ``values`` and its interval. Raises ValueError if there are none."""
    ordered = np.sort(np.asarray(values, dtype=float))
    if ordered.size == 0:
        raise ValueError("no values: a median needs at least one")
    out = left_out(ordered.size)
    low, high = ordered[out], ordered[ordered.size - 1 - out]
    return Interval(float(np.median(ordered)), float(low), float(high))


def paired_ratio(numerator, denominator) -> Interval:
    """Return the median over blocks of numerator / denominator, both (blocks,), and its interval.

    Times are paired by block, because a drift of the GPU's clocks scales both times alike.
    """
    return median_interval(np.asarray(numerator) / np.asarray(denominator))
