"""The verdict on every point that two runs share."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.compare import estimate, significance
from analysis.compare.match import Matched
from analysis.frame import timed

# Worst first.
BROKE, SLOWER, UNCLEAR, SAME, FASTER, WORKS = (
    *("broke", "slower", "unclear", "same", "faster", "works now"),
)
NEITHER = "ok in neither"
CLASSES = (BROKE, SLOWER, UNCLEAR, SAME, FASTER, WORKS, NEITHER)
APART = "the two processes lie apart: measure again"
FIXED = "every call took {:+.2f} µs, taken off"
SCATTERED = "the samples scatter: measure longer (time_budget_s)"


class Limits(NamedTuple):
    """Relative: what counts as the same, what fails, and the false-discovery rate."""

    margin: float
    threshold: float
    rate: float


def judge(matched: Matched, limits: Limits) -> pd.DataFrame:
    """One line per shared point, worst first, with the point as its index.

    `ratio` is old time / new time, paired over torch where torch is unchanged (Matched.paired),
    else plain; `low` and `high` its 95 % interval, which includes what separates two processes;
    `plain` the ratio of times in any case; all NaN where the point was not timed in both. `code`
    tells whether the kernel's source is the same or changed; `note` says why a point that is ok in
    both has no ratio, why its interval is wide, or what was taken off its times.
    """
    pairs = [run.rows.loc[matched.both] for run in (matched.old, matched.new)]
    table = pd.DataFrame(index=matched.both)
    for name in ("status", "time_us"):
        for side, rows in zip(("old", "new"), pairs, strict=True):
            table[f"{name}_{side}"] = rows[name]
    hashes = [rows["kernel_sha256"] for rows in pairs]
    unknown = (hashes[0] == "") | (hashes[1] == "")
    table["code"] = np.select([unknown, hashes[0] == hashes[1]], ["", "same"], "changed")
    ok = [rows["status"] == "ok" for rows in pairs]
    table["verdict"] = np.select(
        [ok[0] & ok[1], ok[0], ok[1]], [UNCLEAR, BROKE, WORKS], default=NEITHER
    )
    table["note"] = _not_comparable(*pairs).where(ok[0] & ok[1], "")
    table[["ratio", "low", "high", "plain"]] = math.nan
    table = table.assign(**_judged(matched, table, limits))
    rank = table["verdict"].map(CLASSES.index)
    return table.iloc[np.lexsort((table["ratio"], rank))]


def failed(found: pd.DataFrame, limits: Limits) -> pd.Series:
    """Mask of the points that fail: broke, or slower by more than the threshold."""
    far = found["ratio"] < 1 / (1 + limits.threshold)
    return (found["verdict"] == BROKE) | ((found["verdict"] == SLOWER) & far)


def _not_comparable(old: pd.DataFrame, new: pd.DataFrame) -> pd.Series:
    """Why two ok rows cannot be compared; "" where they can."""
    note = pd.Series("", index=old.index)
    note[old["timing"] != new["timing"]] = "timed in two ways: " + old["timing"] + ", then "
    note[old["timing"] != new["timing"]] += new["timing"]
    for rows, when in ((old, "OLD"), (new, "NEW")):
        unranked = ~timed(rows)
        note[unranked] = f"not ranked in {when}: flagged " + rows["unranked_by"][unranked]
    return note


def _judged(matched: Matched, table: pd.DataFrame, limits: Limits) -> dict[str, pd.Series]:
    points = table.index[(table["verdict"] == UNCLEAR) & (table["note"] == "")]
    changes = [estimate.change(matched.old.samples[p], matched.new.samples[p]) for p in points]
    if not changes:
        return {}
    each = pd.DataFrame(changes, index=points)
    used = "paired" if matched.paired else "plain"
    value, within = each[used].to_numpy(), each[f"{used}_se"].to_numpy()
    between = estimate.between(each[f"{used}_control"], each["torch_us"])
    error = np.hypot(within, between)
    margin = math.log1p(limits.margin)
    differs = significance.discoveries(significance.beyond(value, error, margin), limits.rate) & (
        np.abs(value) > margin
    )
    half = significance.T95 * error
    same = (np.abs(value) + half <= margin) & ~differs
    words = np.select([differs & (value > 0), differs, same], [FASTER, SLOWER, SAME], UNCLEAR)
    moved = [FIXED.format(us) if us and matched.paired else "" for us in each["fixed_us"]]
    wide = [(words == UNCLEAR) & (significance.T95 * part > margin) for part in (between, within)]
    found = {
        "verdict": words,
        "ratio": np.exp(value),
        "low": np.exp(value - half),
        "high": np.exp(value + half),
        "plain": np.exp(each["plain"].to_numpy()),
        # Of the samples, as the ratios are.
        "time_us_old": each["time_us_old"],
        "time_us_new": each["time_us_new"],
        "note": np.select(wide, [APART, SCATTERED], moved),
    }
    filled = table[list(found)].copy()
    filled.loc[points] = pd.DataFrame(found, index=points)
    return {name: filled[name] for name in found}
