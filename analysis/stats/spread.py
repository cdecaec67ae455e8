"""Estimate the spread between processes, and how far A/A intervals are too narrow.

The controls are in every row: a second series of torch (A/A), and the ratio torch / copy.
"""

import math

import numpy as np
import pandas as pd

from analysis.frame import once
from analysis.schema import SWEEP_MATRIX
from analysis.stats.ratio import ALPHA, Z

SHORT_US = 10  # shorter calls are a separate class, because launches vary by a fixed time
# A/A controls of an operation, and of its short or its long calls. Of 20, the 95 % quantile is
# almost the largest, which widens too much rather than too little.
MIN_ROWS, MIN_CLASS_ROWS = 20, 60
BOARD = ["origin", "sweep", "gpu", "gpu_uuid"]
# The grid of a (relative), b (µs) and d in `process_spread`. a and b reach from below the smallest
# spread of a recorded board, 0.02 %, to above the largest.
A_GRID, B_GRID_US = np.geomspace(5e-5, 5e-2, 30), np.append(0, np.geomspace(2e-3, 0.5, 24))
# Among 25 recorded sweeps on a board, 13 would take d = 2, where the variance is infinite, and so
# is that of a mean. With 3, the same kernel under two names differs significantly in one of 60
# recorded pairs. But if d were 2.1, 5 of 30 simulated sweeps of equal variants would show a
# significant difference.
D_GRID = (3.0, 4.0, 6.0, 10.0, 20.0, 50.0)
# A sweep needs these degrees of freedom in its controls. With fewer, a, b and d are those of its
# board in all sweeps, or else DEFAULT, a spread that no recorded board exceeds.
MIN_DEGREES, DEFAULT = 10, (5e-3, 0.12, 4.0)


def aa_controls(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the processes with an A/A control; `z` of its ratio; `excludes`: its interval lacks 1.

    A process of two sweeps counts once. A row whose A/A interval has no width is left out, because
    it has no standard error.
    """
    rows = once(rows[rows["aa_high"] > rows["aa_low"]])
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
    for by, fewest in ((["gpu", "op"], MIN_ROWS), (["gpu", "op", "short"], MIN_CLASS_ROWS)):
        for key, part in aa.groupby(by):
            if len(part) >= fewest:
                of_class = (rows[by] == list(key)).all(axis=1)
                k[of_class] = max(1.0, part["z"].abs().quantile(1 - ALPHA) / Z)
    return k


def process_spread(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a, b and the degrees d of the spread between processes, by BOARD.

    That this spread is also that of a variant over torch is an assumption. Replicates test it, and
    `stats.point_estimates` then gives their own variance more weight.

    In Smyth's model the sample variance of ln(torch / copy) over the n processes of a matrix is
    distributed as (a² + (b / t)²) · F(n - 1, d). Of a grid, a, b and d have the largest likelihood.
    The d returned is smaller, by the error of this estimate. If processes rather than matrices
    differ in spread, d is overestimated. In a simulation with d = 3, 10 % of sweeps of equal
    variants then show a significant difference, not 5 %.
    """
    rows = rows[rows["torch_us"].notna()]
    length = rows[["torch_us", "copy_us"]].min(axis=1)  # b weighs most on the shorter call
    rows = rows.assign(log=np.log(rows["torch_us"] / rows["copy_us"]), length=length)
    fits = {}
    for _, board in rows.groupby([name for name in BOARD if name != "sweep"]):
        for key, sweep in board.groupby(BOARD):  # too few controls of a sweep: those of the board
            fits[key] = _fit(_controls(sweep)) or _fit(_controls(once(board))) or DEFAULT
    return pd.DataFrame.from_dict(fits, orient="index", columns=["a", "b", "d"])


def _controls(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each matrix of one board the variance of ln(torch / copy) between processes."""
    groups = rows.groupby(SWEEP_MATRIX, sort=False)
    return groups.agg(var=("log", "var"), n=("log", "size"), length=("length", "median"))


def _fit(controls: pd.DataFrame) -> tuple[float, float, float] | None:
    """Return a, b and d of one board; `controls` has `n` processes in each line. None: too few."""
    controls = controls[controls["n"] > 1]
    n = controls["n"].to_numpy(float) - 1
    if n.sum() < MIN_DEGREES:
        return None
    variance = np.maximum(controls["var"].to_numpy(), 1e-10)  # times that are equal by chance
    per_call = (B_GRID_US[:, None] / controls["length"].to_numpy()) ** 2
    tau2 = A_GRID[:, None, None] ** 2 + per_call
    best = {}  # likelihood -> (a, b, d)
    for d in D_GRID:
        beta = sum(math.lgamma((m + d) / 2) - math.lgamma(m / 2) - math.lgamma(d / 2) for m in n)
        scaled = n * variance / (d * tau2)
        likelihood = (n / 2 * np.log(scaled) - (n + d) / 2 * np.log1p(scaled)).sum(axis=-1) + beta
        i, j = np.unravel_index(likelihood.argmax(), likelihood.shape)
        # A variance with d degrees has the squared relative error 2 / d. The estimate of
        # a² + (b / t)² has 2 / (n.sum() - 3): the degrees of all controls, less three fitted
        # numbers. Both errors are independent, so their squares add.
        degrees = 1 / (1 / d + 1 / (n.sum() - 3))
        best[likelihood[i, j]] = float(A_GRID[i]), float(B_GRID_US[j]), degrees
    return best[max(best)]
