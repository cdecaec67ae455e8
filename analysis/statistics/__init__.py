"""Estimate the speed of variants over processes, with 95 % confidence intervals and tests.

The unit of replication is the process (Kalibera and Jones, ISMM 2013). Each process times torch
beside its variant; y = ln(torch / variant) is paired within it. For process i of a variant

    Var(y_i) = k² · within_i² + a² + (b / t)²

within: the standard error within the process. It follows from the row's interval, which is one
        of order statistics of blocks (Hahn and Meeker, Statistical Intervals, 2nd ed. 2017, 5.2).
k:      the factor, at least 1, by which the A/A intervals are too narrow (`widening`).
a, b:   the spread between processes: a is relative, b is in µs per call, t is the time of a call.
        The ratio torch / copy, timed in every process of a board, shows both (`process_spread`).

The spread between processes differs from matrix to matrix, and one process does not show it. Its
variance is taken as scaled inverse chi-square with d degrees of freedom, so y is t-distributed. The
sample variance of several processes is combined with that prior (Smyth, Statistical Applications in
Genetics and Molecular Biology 3(1), 2004).

Student's t is computed here: scipy would be a further dependency for one function.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis import markdown as md
from analysis.frame import ranks
from analysis.schema import BASELINE, SCHEMA, SWEEP_MATRIX
from analysis.statistics.spread import BOARD, DEFAULT, LEVEL, Z, process_spread, widening

TIE = 0.01  # a smaller lead counts as none: on some hosts processes of the same code differ by it
NORMAL = 1000.0  # with more degrees of freedom Student's t is taken as normal
VARIANT_POINT = [*SWEEP_MATRIX, "variant"]


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
        if not self.variance > 0:
            return math.nan, math.nan
        half = float(t_quantile(self.degrees)) * math.sqrt(self.variance)
        return math.exp(self.log - half), math.exp(self.log + half)

    def __str__(self) -> str:
        """Return `1.353x [1.350, 1.356]`, the interval only where there is one."""
        number, *interval = md.with_interval(self.value, *self.interval).split(" ", 1)
        return " ".join([f"{number}x", *interval])

    def p(self, margin: float = 0.0) -> float:
        """Return the p-value of the hypothesis |true logarithm| <= margin; 1 for NaN.

        Both tails count, each from the margin on (McCarthy and Smyth, Bioinformatics 25(6), 2009).
        """
        size = abs(self.log)
        return min(1.0, self._p_of_error(size - margin) + self._p_of_error(size + margin))

    def p_of_more(self, margin: float) -> float:
        """Return the p-value of the hypothesis |true logarithm| >= margin; 1 for NaN.

        It is the larger of two one-sided ones (Schuirmann, J. Pharmacokin. Biopharm. 15(6), 1987).
        """
        return self._p_of_error(margin - abs(self.log))

    def _p_of_error(self, size: float) -> float:
        """Return the probability that the error in one direction is at least `size`; 1 for NaN."""
        if math.isnan(size) or math.isnan(self.variance):
            return 1.0
        if self.variance == 0:
            return float(size <= 0)
        half = two_sided_p(size / math.sqrt(self.variance), self.degrees) / 2
        return half if size >= 0 else 1 - half

    def minus(self, other: "Estimate") -> "Estimate":
        """Return the quotient of two independent ratios."""
        return _weighted_sum([self, other], (1, -1))


def _weighted_sum(estimates: Iterable[Estimate], weights: Iterable[float]) -> Estimate:
    """Return the weighted sum of logarithms, as t-distributed with the fewest degrees of freedom.

    That is exact where two terms share one spread. Where each has its own, their sum is far in the
    tail less often than this t. Only the 95 % interval of many terms would be too narrow for d < 4,
    so the variance is at least what gives the interval of a normal sum of scale² · d / (d - 2).
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
    return np.interp(-LEVEL, -beyond, t)


def point_estimates(
    rows: pd.DataFrame, controls: pd.DataFrame | None = None, baseline: str | None = BASELINE
) -> pd.DataFrame:
    """Return one line per variant and matrix; `rows` has one per process.

    The worst status of its processes is the status of a variant, with the message of that process.
    `log`, `variance` and `degrees` are its Estimate over torch, NaN without a speed-up; `speedup`
    and its interval follow from them. `processes` counts the processes that rank. Other numbers are
    medians over these processes, or where none ranks over those of the worst status. `controls`:
    the rows that give the spread and the widening, by default `rows`. `baseline`: the variant whose
    ratio is exactly 1.
    """
    controls = rows if controls is None else controls
    board = process_spread(controls).reindex(pd.MultiIndex.from_frame(rows[BOARD]))
    a, b, d = board.fillna(dict(zip("abd", DEFAULT, strict=True))).to_numpy(float).T
    within = np.log(rows["speedup_high"] / rows["speedup_low"]).fillna(0) / (2 * Z)
    tau2 = a**2 + (b / rows[["torch_us", "time_us"]].min(axis=1)) ** 2
    prior = (widening(rows, controls) * within) ** 2 + tau2
    rows = rows.assign(log=np.log(rows["speedup"]), prior=prior, d=d)
    # Flags and boards exclude single processes; a wrong result or a crash excludes the variant.
    severity = rows["status"].map(SCHEMA["status"].allowed.index)
    rows = rows[severity == _over_variant(rows, severity, "max")]
    ranked = ranks(rows)
    rows = rows.assign(processes=ranked.astype(int))[ranked | ~_over_variant(rows, ranked, "any")]
    groups = rows.groupby(VARIANT_POINT, sort=False)
    points = groups.first()
    numbers = [c.name for c in SCHEMA.values() if c.type == "float"]
    points[numbers] = groups[numbers].median()
    for name in ("flags", "unranked_by", "gpu_uuid"):
        words = groups[name].agg(lambda texts: " ".join(sorted(set(" ".join(texts).split()))))
        points[name] = words
    points["processes"] = groups["processes"].sum()
    means, n = groups[["log", "prior", "d"]].mean(), groups.size()
    sample_variance = groups["log"].var().fillna(0)
    degrees = means["d"] + n - 1
    variance = (means["d"] * means["prior"] + (n - 1) * sample_variance) / degrees / n
    torch = points.index.get_level_values("variant") == baseline
    log, variance = means["log"].mask(torch, 0.0), variance.mask(torch, 0.0)
    half = t_quantile(degrees) * np.sqrt(variance.mask(variance == 0)) if len(points) else 0.0
    ends = {"speedup": log, "speedup_low": log - half, "speedup_high": log + half}
    estimates = {name: np.exp(each).where(means["log"].notna()) for name, each in ends.items()}
    estimates |= {"log": log, "variance": variance, "degrees": degrees}
    return points.drop(columns=["prior", "d"]).assign(**estimates).reset_index()


def _over_variant(rows: pd.DataFrame, values: pd.Series, function: str) -> pd.Series:
    """Return a function of the values of all processes of a variant at a point, for each row."""
    return values.groupby([rows[name] for name in VARIANT_POINT]).transform(function)


def estimate(point: Mapping) -> Estimate:
    """Return the estimate of a line of `point_estimates`; of a published row its speed, 1 / µs."""
    if "log" not in point:
        return Estimate(-math.log(point["time_us"]))
    return Estimate(point["log"], point["variance"], point["degrees"])
