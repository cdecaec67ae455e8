"""Estimate the speed of variants over processes, with 95 % confidence intervals and tests.

The unit of replication is the process (Kalibera and Jones, ISMM 2013). Each process times torch
beside its variant; y = ln(torch / variant) is paired within it. For process i of a variant

    Var(y_i) = k² · within_i² + a² + (b / t)²

within: from the row's interval, of order statistics of blocks of calls (Hahn and Meeker,
        Statistical Intervals, 2nd ed. 2017, section 5.2).
k:      what intervals of torch against itself (A/A) lack in width, at least 1 (`widening`).
a, b:   the spread between processes, relative and in µs per call of length t. The sweep's own
        controls on the board tell it, torch against the copy (`process_spread`).

One process does not tell its own spread, which varies from matrix to matrix like a scaled inverse
chi-square with d degrees of freedom: y is t-distributed. Of more processes their own counts too
(Smyth, Statistical Applications in Genetics and Molecular Biology 3(1), 2004).

Student's t is here, because scipy.stats takes 0.6 s to import, and has no Holm.
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
TIE = 0.01  # a smaller lead is no lead: what separates processes of the same code on some hosts
Z = 1.959964  # standard errors on each side of a normal 95 % interval
SHORT_US = 10  # shorter calls are a class of their own: what a launch varies by weighs most on them
MIN_ROWS = 20  # A/A controls of a class, for their 95 % quantile to mean something
MAX_EXCLUDING = 0.08  # share of A/A intervals without 1, from where on an operation is named …
CHANCE = 0.01  # … if a control that is fair has so many at most this often
VARIANT_POINT = [*SWEEP_MATRIX, "variant"]
BOARD = ["origin", "sweep", "gpu", "gpu_uuid"]
# The grid of `process_spread`: from 0.02 %, the least of a recorded board, to the worst one's.
RELATIVE, PER_CALL_US = np.geomspace(2e-4, 5e-2, 24), np.append(0, np.geomspace(2e-3, 0.5, 24))
DEGREES = (3.0, 4.0, 6.0, 10.0, 20.0, 50.0)
MIN_DEGREES = 10  # of a board's controls, to estimate three numbers; with fewer they have
DEFAULT = (5e-3, 5e-2, 4.0)  # which is more than on any recorded host with one GPU


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
        """Return the p-value of |true logarithm| <= margin: both tails, at the margin's edge.

        After McCarthy and Smyth (Bioinformatics 25(6), 2009). 1 where nothing is known.
        """
        if math.isnan(self.log) or math.isnan(self.variance):
            return 1.0
        error, size = math.sqrt(self.variance), abs(self.log)
        if error == 0:
            return float(size <= margin)
        near = two_sided_p((size - margin) / error, self.degrees) / 2
        far = two_sided_p((size + margin) / error, self.degrees) / 2
        return min(1.0, (near if size >= margin else 1 - near) + far)

    def minus(self, other: "Estimate") -> "Estimate":
        """Return the quotient of two independent ratios."""
        return _weighted_sum([self, other], (1, -1))


def _weighted_sum(estimates: Iterable[Estimate], weights: Iterable[float]) -> Estimate:
    """Return the weighted sum of logarithms.

    One uncertain term stays t-distributed. Of several the variances of t add up, scale² · d / (d -
    2), and the sum is taken as normal: such intervals cover 94 to 97 % of simulated sums. Welch and
    Satterthwaite's degrees do not apply, because these tails are the errors', not the variances'.
    """
    pairs = list(zip(estimates, weights, strict=True))
    log = math.fsum(w * e.log for e, w in pairs)
    uncertain = [(w * w * e.variance, e.degrees) for e, w in pairs if e.variance != 0]
    if len(uncertain) < 2:
        return Estimate(log, *(uncertain[0] if uncertain else ()))
    return Estimate(log, math.fsum(v * _inflation(d) for v, d in uncertain))


def _inflation(degrees: float) -> float:
    """Return the variance of Student's t; its degrees are floored, because 2 have none."""
    degrees = max(degrees, 2.5)
    return degrees / (degrees - 2) if degrees < math.inf else 1.0


def geometric_mean(estimates: Collection[Estimate]) -> Estimate:
    """Return the geometric mean over sizes; its error is that of measuring these very sizes."""
    return _weighted_sum(estimates, [1 / len(estimates)] * len(estimates))


def holm(p: Iterable[float]) -> np.ndarray:
    """Return adjusted p-values for the error of any of a family (Holm, Scand. J. Stat. 6, 1979)."""
    return _stepwise(p, lambda place, n: n - place + 1, np.maximum.accumulate)


def benjamini_hochberg(p: Iterable[float]) -> np.ndarray:
    """Return adjusted p-values for the share of false discoveries (J. R. Stat. Soc. B 57, 1995)."""
    return _stepwise(
        p, lambda places, n: n / places, lambda p: np.minimum.accumulate(p[::-1])[::-1]
    )


def _stepwise(p, factor, monotone) -> np.ndarray:
    p = np.asarray(list(p), float)
    order, n = np.argsort(p, kind="stable"), len(p)
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(monotone(p[order] * factor(np.arange(1, n + 1), n)), 1)
    return adjusted


@cache
def _tail(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return |t| and P(|T| > |t|) on a grid. With t = √d · tan θ, T has the density cosᵈ⁻¹ θ."""
    degrees = min(float(text), 1000.0)  # as good as normal
    angle = np.linspace(0, math.pi / 2, 4001)
    density = np.cos(angle) ** (degrees - 1)
    areas = (density[1:] + density[:-1])[::-1].cumsum()[::-1]
    return np.sqrt(degrees) * np.tan(angle), np.append(areas / areas[0], 0)


def two_sided_p(t: float, degrees: float) -> float:
    """Return P(|T| > |t|) of Student's t."""
    return float(np.interp(abs(t), *_tail(f"{degrees:.3g}")))


@np.vectorize
def t_quantile(degrees: float) -> float:
    """Return the half-width of the 95 % interval of Student's t, in standard errors."""
    t, beyond = _tail(f"{degrees:.3g}")
    return np.interp(-LEVEL, -beyond, t)


def aa_controls(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with an A/A control, with `z` of its ratio, and `excludes`: lacks 1."""
    rows = rows[rows["aa_ratio"].notna() & (rows["aa_high"] > rows["aa_low"])]
    z = np.log(rows["aa_ratio"]) * 2 * Z / np.log(rows["aa_high"] / rows["aa_low"])
    out = (rows["aa_low"] > 1) | (rows["aa_high"] < 1)
    return rows.assign(z=z, excludes=out, short=rows["torch_us"] <= SHORT_US)


def widening(rows: pd.DataFrame, controls: pd.DataFrame) -> pd.Series:
    """Return k of each row: the 95 % quantile of |z| of its class's A/A controls over normal z.

    A class is an operation on a GPU and short or long calls; with few rows of it, any length.
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
    """Return the share of A/A intervals without 1 by (gpu, op), where it is no chance."""
    found = aa_controls(rows).groupby(["gpu", "op"])["excludes"].agg(["mean", "sum", "size"])
    chance = [binomial_tail(k, n, LEVEL) for k, n in zip(found["sum"], found["size"], strict=True)]
    unfair = (found["mean"] > MAX_EXCLUDING) & (np.array(chance) <= CHANCE)
    return found["mean"][unfair & (found["size"] >= MIN_ROWS)]


def binomial_tail(least: int, n: int, rate: float) -> float:
    """Return the probability of `least` or more of `n` events of probability `rate`."""
    log, lgamma = math.log(rate) - math.log1p(-rate), math.lgamma
    least_log = n * math.log1p(-rate) + lgamma(n + 1)
    events = range(least, n + 1)
    return sum(math.exp(least_log + k * log - lgamma(k + 1) - lgamma(n - k + 1)) for k in events)


def process_spread(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a, b and the degrees d of the spread between processes, by BOARD.

    Of each matrix the sample variance of ln(torch / copy) over its processes is distributed as
    (a² + (b / t)²) · F(n - 1, d), Smyth's model; a, b, d: of largest likelihood on a grid. Fewer
    degrees are returned, because the controls tell these three numbers with an error.
    """
    rows = rows[(rows["torch_us"] > 0) & (rows["copy_us"] > 0)]
    length = rows[["torch_us", "copy_us"]].min(axis=1)  # on which a fixed time weighs most
    rows = rows.assign(log=np.log(rows["torch_us"] / rows["copy_us"]), length=length)
    groups = rows.groupby([*BOARD, *SWEEP_MATRIX[3:]], sort=False)
    controls = groups.agg(var=("log", "var"), n=("log", "size"), length=("length", "median"))
    found = {board: _fit(part[part["n"] > 1]) for board, part in controls.groupby(BOARD)}
    return pd.DataFrame.from_dict(found, orient="index", columns=["a", "b", "d"])


def _fit(controls: pd.DataFrame) -> tuple[float, float, float]:
    n = controls["n"].to_numpy(float) - 1
    if n.sum() < MIN_DEGREES:
        return DEFAULT
    var = np.maximum(controls["var"].to_numpy(), 1e-10)  # equal to all digits: chance
    per_call = (PER_CALL_US[:, None] / controls["length"].to_numpy()) ** 2
    tau2 = RELATIVE[:, None, None] ** 2 + per_call
    best = {}
    for d in DEGREES:
        beta = sum(math.lgamma((m + d) / 2) - math.lgamma(m / 2) - math.lgamma(d / 2) for m in n)
        scaled = n * var / (d * tau2)
        likelihood = (n / 2 * np.log(scaled) - (n + d) / 2 * np.log1p(scaled)).sum(axis=-1) + beta
        at = np.unravel_index(likelihood.argmax(), likelihood.shape)
        degrees = 1 / (1 / d + 1 / (n.sum() - 3))
        best[likelihood[at]] = float(RELATIVE[at[0]]), float(PER_CALL_US[at[1]]), degrees
    return best[max(best)]


def point_estimates(
    rows: pd.DataFrame, controls: pd.DataFrame | None = None, baseline: str | None = BASELINE
) -> pd.DataFrame:
    """Return one line per variant and matrix, in place of one per process.

    `log`, `variance`, `degrees` are its Estimate over torch, which `speedup` repeats; `processes`
    counts those that rank. Other numbers are medians over these; where none ranks, over all.
    `controls`: whole sweeps that tell spread and widening; else `rows`. `baseline` is 1 by pairing.
    """
    controls = rows if controls is None else controls
    board = process_spread(controls).reindex(pd.MultiIndex.from_frame(rows[BOARD]))
    a, b, d = board.fillna(dict(zip("abd", DEFAULT, strict=True))).to_numpy(float).T
    within = np.log(rows["speedup_high"] / rows["speedup_low"]).fillna(0) / (2 * Z)
    tau2 = a**2 + (b / rows[["torch_us", "time_us"]].min(axis=1)) ** 2
    prior = (widening(rows, controls) * within) ** 2 + tau2
    ranked = ranks(rows)
    rows = rows.assign(log=np.log(rows["speedup"]), prior=prior, d=d, processes=ranked.astype(int))
    rows = rows[ranked | ~ranked.groupby([rows[name] for name in VARIANT_POINT]).transform("any")]
    groups = rows.groupby(VARIANT_POINT, sort=False)
    found = groups.first()
    numbers = [c.name for c in SCHEMA.values() if c.type == "float"]
    found[numbers] = groups[numbers].median()
    for name in ("flags", "unranked_by", "gpu_uuid"):
        found[name] = groups[name].agg(lambda texts: " ".join(sorted(set(" ".join(texts).split()))))
    found["processes"] = groups["processes"].sum()
    means, n = groups[["log", "prior", "d"]].mean(), groups.size()
    sample_variance = groups["log"].var().fillna(0)
    degrees = means["d"] + n - 1
    variance = (means["d"] * means["prior"] + (n - 1) * sample_variance) / degrees / n
    torch = found.index.get_level_values("variant") == baseline
    log, variance = means["log"].mask(torch, 0.0), variance.mask(torch, 0.0)
    half = t_quantile(degrees) * np.sqrt(variance.mask(variance == 0)) if len(found) else 0.0
    ends = {"speedup": log, "speedup_low": log - half, "speedup_high": log + half}
    estimates = {name: np.exp(each).where(means["log"].notna()) for name, each in ends.items()}
    estimates |= {"log": log, "variance": variance, "degrees": degrees}
    return found.drop(columns=["prior", "d"]).assign(**estimates).reset_index()


def estimate(point: Mapping) -> Estimate:
    """Return the estimate of a line of `point_estimates`; of a published row its speed, 1 / µs."""
    if "log" not in point:
        return Estimate(-math.log(point["time_us"]))
    return Estimate(point["log"], point["variance"], point["degrees"])
