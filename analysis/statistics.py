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

LEVEL = 0.05  # one minus the confidence; also the rate of false discoveries
TIE = 0.01  # a smaller lead counts as none: on some hosts processes of the same code differ by it
Z = 1.959964  # standard errors on each side of a normal 95 % interval
SHORT_US = 10  # shorter calls are a separate class, because launches vary by a fixed time
MIN_ROWS = 20  # A/A controls of a class; fewer do not give a 95 % quantile
# The report names an operation as biased if more than this share of its A/A intervals lacks 1, and
# if a fair control would have as many with at most the probability CHANCE.
MAX_EXCLUDING, CHANCE = 0.08, 0.01
NORMAL = 1000.0  # with more degrees of freedom Student's t is taken as normal
VARIANT_POINT = [*SWEEP_MATRIX, "variant"]
BOARD = ["origin", "sweep", "gpu", "gpu_uuid"]
# The grid of a, b and d in `process_spread`. It reaches from below the smallest spread of a
# recorded board, 0.02 %, to above the largest.
RELATIVE, PER_CALL_US = np.geomspace(5e-5, 5e-2, 30), np.append(0, np.geomspace(2e-3, 0.5, 24))
DEGREES = (3.0, 4.0, 6.0, 10.0, 20.0, 50.0)
# With fewer degrees of freedom in a board's controls, a, b and d are DEFAULT. That spread is larger
# than on any recorded host with one GPU.
MIN_DEGREES, DEFAULT = 10, (5e-3, 5e-2, 4.0)


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


def aa_controls(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with an A/A control; `z` of its ratio; `excludes`: its interval lacks 1.

    A row whose A/A interval has no width is left out, because it has no standard error.
    """
    rows = rows[rows["aa_ratio"].notna() & (rows["aa_high"] > rows["aa_low"])]
    z = np.log(rows["aa_ratio"]) * 2 * Z / np.log(rows["aa_high"] / rows["aa_low"])
    excludes = (rows["aa_low"] > 1) | (rows["aa_high"] < 1)
    return rows.assign(z=z, excludes=excludes, short=rows["torch_us"] <= SHORT_US)


def widening(rows: pd.DataFrame, controls: pd.DataFrame) -> pd.Series:
    """Return k of each row: the 95 % quantile of |z| over the A/A controls of its class, over Z.

    A class is an operation on a GPU, of short or of long calls. A class of few rows takes the
    quantile of the operation's calls of any length.
    """
    aa, k = aa_controls(controls), pd.Series(1.0, rows.index)
    rows = rows.assign(short=rows["torch_us"] <= SHORT_US)
    for by in (["gpu", "op"], ["gpu", "op", "short"]):
        for key, part in aa.groupby(by):
            if len(part) >= MIN_ROWS:
                inside = (rows[by] == list(key)).all(axis=1)
                k[inside] = max(1.0, part["z"].abs().quantile(1 - LEVEL) / Z)
    return k


def biased_operations(rows: pd.DataFrame) -> pd.Series:
    """Return by (gpu, op) the share of A/A intervals without 1, where it is more than chance."""
    aa = aa_controls(rows).groupby(["gpu", "op"])["excludes"].agg(["mean", "sum", "size"])
    chance = [binomial_tail(k, n, LEVEL) for k, n in zip(aa["sum"], aa["size"], strict=True)]
    biased = (aa["mean"] > MAX_EXCLUDING) & (np.array(chance) <= CHANCE)
    return aa["mean"][biased & (aa["size"] >= MIN_ROWS)]


def binomial_tail(least: int, n: int, rate: float) -> float:
    """Return the probability of `least` or more of `n` events of probability `rate`."""

    def probability(k: int) -> float:  # by logarithms: n of 15,000 would overflow
        ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        return math.exp(ways + k * math.log(rate) + (n - k) * math.log1p(-rate))

    return math.fsum(map(probability, range(least, n + 1)))


def process_spread(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a, b and the degrees d of the spread between processes, by BOARD.

    In Smyth's model the sample variance of ln(torch / copy) over the n processes of a matrix is
    distributed as (a² + (b / t)²) · F(n - 1, d). Of a grid, a, b and d have the largest likelihood.
    The d returned is smaller, by the error of this estimate (`_with_error_of_estimate`). Where
    single processes deviate and not matrices, d is too large: with d = 3 in a simulation, 10 % of
    the sweeps of equal variants have a significant difference in place of 5 %.
    """
    rows = rows[(rows["torch_us"] > 0) & (rows["copy_us"] > 0)]
    length = rows[["torch_us", "copy_us"]].min(axis=1)  # b weighs most on the shorter call
    rows = rows.assign(log=np.log(rows["torch_us"] / rows["copy_us"]), length=length)
    groups = rows.groupby([*BOARD, *SWEEP_MATRIX[3:]], sort=False)
    controls = groups.agg(var=("log", "var"), n=("log", "size"), length=("length", "median"))
    fits = {board: _fit(part[part["n"] > 1]) for board, part in controls.groupby(BOARD)}
    return pd.DataFrame.from_dict(fits, orient="index", columns=["a", "b", "d"])


def _fit(controls: pd.DataFrame) -> tuple[float, float, float]:
    """Return a, b and d of one board; `controls` has `n` processes in each line."""
    n = controls["n"].to_numpy(float) - 1
    if n.sum() < MIN_DEGREES:
        return DEFAULT
    variance = np.maximum(controls["var"].to_numpy(), 1e-10)  # times that are equal by chance
    per_call = (PER_CALL_US[:, None] / controls["length"].to_numpy()) ** 2
    tau2 = RELATIVE[:, None, None] ** 2 + per_call
    best = {}  # likelihood -> (a, b, d)
    for d in DEGREES:
        beta = sum(math.lgamma((m + d) / 2) - math.lgamma(m / 2) - math.lgamma(d / 2) for m in n)
        scaled = n * variance / (d * tau2)
        likelihood = (n / 2 * np.log(scaled) - (n + d) / 2 * np.log1p(scaled)).sum(axis=-1) + beta
        i, j = np.unravel_index(likelihood.argmax(), likelihood.shape)
        degrees = _with_error_of_estimate(d, n.sum())
        best[likelihood[i, j]] = float(RELATIVE[i]), float(PER_CALL_US[j]), degrees
    return best[max(best)]


def _with_error_of_estimate(d: float, controls: float) -> float:
    """Return the degrees of freedom of a variance that is itself estimated.

    A variance with d degrees has the squared relative error 2 / d. The estimate of a² + (b / t)²
    has 2 / (`controls` - 3): the degrees of all controls, less three fitted numbers. Both errors
    are independent, so their squares add.
    """
    return 1 / (1 / d + 1 / (controls - 3))


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
