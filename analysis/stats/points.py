"""Estimate the speed of every variant at every matrix over its processes."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.frame import different_words, is_baseline, is_ranked
from analysis.schema import (
    FAILED_REPLICATE,
    OVER_PROCESSES,
    SEVERITY,
    STALE,
    SWEEP_MATRIX,
    TRANSIENT,
)
from analysis.stats.ratio import Estimate, Z, t_quantile
from analysis.stats.spread import BOARD, DEFAULT, process_spread, widening

VARIANT_POINT = [*SWEEP_MATRIX, "variant"]
SPECIAL_ROWS = ["special_rows_right", "special_rows_wrong"]


def point_estimates(
    rows: pd.DataFrame, controls: pd.DataFrame | None = None, over_torch: bool = True
) -> pd.DataFrame:
    """Return one line per variant and matrix; `rows` has one per process.

    The most severe status of its processes is that of a variant, with the message of that process.
    `log`, `variance` and `degrees` are its Estimate over torch, NaN without a speed-up; `speedup`
    and its interval follow from them. `processes` counts the processes that rank. Other numbers are
    merged over these processes as OVER_PROCESSES says, or where none ranks over those of the worst
    status. `controls`: the rows that give the spread and the widening, by default `rows`.
    `over_torch`: the speed-ups are over torch, whose own is exactly 1.
    """
    rows = _of_worst_status(_with_prior(rows, rows if controls is None else controls))
    groups = rows.groupby(VARIANT_POINT, sort=False)
    points = groups.first().drop(columns=["prior", "d"])
    points[[*OVER_PROCESSES]] = groups.agg(OVER_PROCESSES)
    texts = ["flags", "unranked_by", "gpu_uuid", "throttle_reasons", "process"]
    points[texts] = groups[texts].agg(different_words)
    points["processes"] = groups["processes"].sum()
    # only the first replicate looks at special rows
    points[SPECIAL_ROWS] = groups[SPECIAL_ROWS].max()
    points[["log", "variance", "degrees"]] = _over_processes(groups)
    points = points.reset_index()
    if over_torch:
        points.loc[is_baseline(points) & points["log"].notna(), ["log", "variance"]] = 0.0
    return _with_speedup(points)


def _with_prior(rows: pd.DataFrame, controls: pd.DataFrame) -> pd.DataFrame:
    """Add `log`, and Var(y) of one process: `prior`, with `d` degrees of freedom."""
    board = process_spread(controls).reindex(pd.MultiIndex.from_frame(rows[BOARD]))
    a, b, d = board.fillna(dict(zip("abd", DEFAULT, strict=True))).to_numpy(float).T
    within = np.log(rows["speedup_high"] / rows["speedup_low"]).fillna(0) / (2 * Z)
    tau2 = a**2 + (b / rows[["torch_us", "time_us"]].min(axis=1)) ** 2
    prior = (widening(rows, controls) * within) ** 2 + tau2
    return rows.assign(log=np.log(rows["speedup"]), prior=prior, d=d)


def _of_worst_status(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that give the line of their variant, with `processes`, 1 for each that ranks.

    A flag, a board or a TRANSIENT status excludes one process; a wrong result or a crash excludes
    the variant. The flag FAILED_REPLICATE tells of a process that a transient status excludes, and
    STALE of a row of older code.
    """

    def over_variant(values: pd.Series, function: str) -> pd.Series:
        return values.groupby([rows[name] for name in VARIANT_POINT]).transform(function)

    failed = rows["status"].isin(TRANSIENT) & over_variant(rows["status"] == "ok", "any")
    flags = rows["flags"].mask(over_variant(failed, "any"), rows["flags"] + f" {FAILED_REPLICATE}")
    flags = flags.mask(rows["stale"] == "true", flags + f" {STALE}")
    rows = rows.assign(flags=flags)[~failed]
    severity = rows["status"].map(SEVERITY.index)
    rows = rows[severity == over_variant(severity, "max")]
    ranked = is_ranked(rows)
    rows = rows.assign(processes=ranked.astype(int))
    return rows[ranked | ~over_variant(ranked, "any")]


def _over_processes(groups) -> pd.DataFrame:
    """Return `log`, `variance` and `degrees`: the sample variance combined with the prior."""
    means, n = groups[["log", "prior", "d"]].mean(), groups.size()
    sample_variance = groups["log"].var().fillna(0)
    degrees = means["d"] + n - 1
    variance = (means["d"] * means["prior"] + (n - 1) * sample_variance) / degrees / n
    return pd.DataFrame({"log": means["log"], "variance": variance, "degrees": degrees})


def _with_speedup(points: pd.DataFrame) -> pd.DataFrame:
    """Replace `speedup` and its interval by those that follow from the estimate."""
    log, variance = points["log"], points["variance"].mask(points["variance"] == 0)
    half = t_quantile(points["degrees"]) * np.sqrt(variance) if len(points) else 0.0
    ends = {"speedup": log, "speedup_low": log - half, "speedup_high": log + half}
    return points.assign(**{name: np.exp(end) for name, end in ends.items()})


def estimate(point: Mapping) -> Estimate:
    """Return the estimate of a line of `point_estimates`; of a published row its speed, 1 / µs."""
    if "log" not in point:
        return Estimate(-math.log(point["time_us"]))
    return Estimate(point["log"], point["variance"], point["degrees"])
