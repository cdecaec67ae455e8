"""Ratios with 95 % confidence intervals and p-values, by Student's t, and p-values of many.

Student's t is computed here: scipy would be a further dependency for one function.
"""

import math
from collections.abc import Collection, Iterable
from functools import cache
from typing import NamedTuple

import numpy as np

ALPHA = 0.05  # one minus the confidence; also the rate of false discoveries
TIE = 0.01  # a smaller lead counts as none: on some hosts processes of the same code differ by it
Z = 1.959964  # standard errors on each side of a normal 95 % interval
NORMAL = 1000.0  # degrees of freedom, beyond which Student's t is taken as normal


class Estimate(NamedTuple):
    """The logarithm of a ratio, its variance, and degrees of freedom.

    A variance of 0 stands for a number without an interval, such as one from the literature.
    """

    log: float
    variance: float = 0.0
    degrees: float = math.inf

    @property
    def value(self) -> float:
        """Return the ratio."""
        return math.exp(self.log)

    @property
    def interval(self) -> tuple[float, float]:
        """Return the ends of the 95 % interval; NaN without one."""
        if self.variance == 0:
            return math.nan, math.nan
        half = float(t_quantile(self.degrees)) * math.sqrt(self.variance)
        return math.exp(self.log - half), math.exp(self.log + half)

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the interval; without one, return the ratio as both ends."""
        return self.interval if self.variance else (self.value, self.value)

    def p_beyond(self, margin: float = 0.0) -> float:
        """Return the p-value of the hypothesis |true logarithm| <= margin.

        Both tails count, each from the margin on (McCarthy and Smyth, Bioinformatics 25(6), 2009).
        """
        size = abs(self.log)
        return min(1.0, self._p_of_error(size - margin) + self._p_of_error(size + margin))

    def p_within(self, margin: float) -> float:
        """Return the p-value of the hypothesis |true logarithm| >= margin.

        It is the larger of two one-sided ones (Schuirmann, J. Pharmacokin. Biopharm. 15(6), 1987).
        """
        return self._p_of_error(margin - abs(self.log))

    def _p_of_error(self, size: float) -> float:
        """Return the probability that the error in one direction is at least `size`."""
        if self.variance == 0:
            return float(size <= 0)
        half = two_sided_p(size / math.sqrt(self.variance), self.degrees) / 2
        return half if size >= 0 else 1 - half

    def over(self, divisor: "Estimate") -> "Estimate":
        """Return the quotient of two independent ratios."""
        return _weighted_sum([self, divisor], (1, -1))


def _weighted_sum(estimates: Iterable[Estimate], weights: Iterable[float]) -> Estimate:
    """Return the weighted sum of logarithms, as t-distributed with the fewest degrees of freedom.

    That is exact where two terms share one spread. With separate spreads this t is conservative in
    the tail. For d < 4 it is not for the 95 % interval, so the variance is raised to what gives the
    interval of a normal sum of scale² · d / (d - 2).
    """
    pairs = list(zip(estimates, weights, strict=True))
    log = math.fsum(w * e.log for e, w in pairs)
    uncertain = [(w * w * e.variance, e.degrees) for e, w in pairs if e.variance != 0]
    if not uncertain:
        return Estimate(log)
    variance, degrees = math.fsum(v for v, _ in uncertain), min(d for _, d in uncertain)
    if len(uncertain) > 1 and degrees < 4:
        d = max(degrees, 2.5)  # the variance of 2 degrees is infinite
        variance *= max(1.0, Z**2 * d / (d - 2) / float(t_quantile(degrees)) ** 2)
    return Estimate(log, variance, degrees)


def geometric_mean(estimates: Collection[Estimate]) -> Estimate:
    """Return the geometric mean over sizes; its interval covers these sizes, not other ones."""
    return _weighted_sum(estimates, [1 / len(estimates)] * len(estimates))


@cache
def _tail(degrees: float) -> tuple[np.ndarray, np.ndarray]:
    """Return |t| and P(|T| > |t|) on a grid of θ: for t = √d · tan θ the density is cosᵈ⁻¹ θ."""
    angle = np.linspace(0, math.pi / 2, 4001)
    density = np.cos(angle) ** (degrees - 1)
    areas = (density[1:] + density[:-1])[::-1].cumsum()[::-1]
    return np.sqrt(degrees) * np.tan(angle), np.append(areas / areas[0], 0)


def two_sided_p(t: float, degrees: float) -> float:
    """Return P(|T| > |t|) of Student's t."""
    return float(np.interp(abs(t), *_tail(min(degrees, NORMAL))))


@np.vectorize
def t_quantile(degrees: float) -> float:
    """Return the half-width of the 95 % interval of Student's t, in standard errors."""
    t, beyond = _tail(min(degrees, NORMAL))
    return np.interp(-ALPHA, -beyond, t)


def holm(p: Iterable[float]) -> np.ndarray:
    """Return p-values adjusted for the family-wise error rate (Holm, Scand. J. Stat. 6, 1979)."""
    p, order, rank = _sorted(p)
    adjusted = np.maximum.accumulate(p[order] * (len(p) - rank + 1))
    return np.minimum(adjusted, 1)[np.argsort(order)]


def benjamini_hochberg(p: Iterable[float]) -> np.ndarray:
    """Return p-values adjusted for the false-discovery rate (J. R. Stat. Soc. B 57, 1995)."""
    p, order, rank = _sorted(p)
    adjusted = np.minimum.accumulate((p[order] * len(p) / rank)[::-1])[::-1]
    return np.minimum(adjusted, 1)[np.argsort(order)]


def _sorted(p: Iterable[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return p-values, the order that sorts them, and the ranks 1 … n."""
    p = np.asarray(list(p), float)
    return p, np.argsort(p, kind="stable"), np.arange(1, len(p) + 1)
