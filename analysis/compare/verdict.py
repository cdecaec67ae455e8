"""The verdict on every point that two runs share, with a false-discovery rate."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.compare import estimate
from analysis.compare.runs import Matched
from analysis.frame import timed

# Worst first.
CLASSES = ("broke", "slower", "unclear", "same", "faster", "works now", "ok in neither")
BROKE, SLOWER, UNCLEAR, SAME, FASTER, WORKS, NEITHER = CLASSES
NOISY_PROCESSES = "the two processes differ: measure again"
FIXED = "every call took {:+.2f} µs, taken off"
SCATTERED = "the samples scatter: measure longer (time_budget_s)"

# Degrees of freedom of Student's t, even. A few processes in a hundred deviate by many times the
# typical deviation: the tails are heavier than a normal distribution's, though not by much once a
# point's own control counts.
DEGREES = 8
T95 = 2.306  # half-width of the two-sided 95 % interval at 8 degrees, in standard errors


class Limits(NamedTuple):
    """Relative: what counts as the same, what fails, and the false-discovery rate."""

    margin: float
    threshold: float
    rate: float


def judge(matched: Matched, limits: Limits) -> pd.DataFrame:
    """Return one line per shared point, worst first, with the point as its index.

    `ratio` is old time / new time, paired over torch where torch is unchanged (Matched.paired),
    else plain; `low` and `high` its 95 % interval, which includes the deviation between processes;
    `plain` the ratio of times in any case; all NaN where the point was not timed in both. `code`:
    whether the kernel's source is the same or changed. `note`: why a point that is ok in both has
    no ratio, why its interval is wide, or what was taken off its times.
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


def counts(changes: pd.DataFrame) -> str:
    """Return `1 slower, 4 same`: every class that has a point, worst first."""
    number = changes["verdict"].value_counts()
    return ", ".join(f"{number[name]} {name}" for name in CLASSES if name in number)


def failed(changes: pd.DataFrame, limits: Limits) -> pd.Series:
    """Return the mask of the points that fail: broke, or slower by more than the threshold."""
    far = changes["ratio"] < 1 / (1 + limits.threshold)
    return (changes["verdict"] == BROKE) | ((changes["verdict"] == SLOWER) & far)


def _not_comparable(old: pd.DataFrame, new: pd.DataFrame) -> pd.Series:
    """Return why two ok rows cannot be compared; "" where they can."""
    ways = "timed in two ways: " + old["timing"] + ", then " + new["timing"]
    note = ways.where(old["timing"] != new["timing"], "")
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
    differs = discoveries(p_beyond(value, error, margin), limits.rate) & (np.abs(value) > margin)
    half = T95 * error
    same = (np.abs(value) + half <= margin) & ~differs
    words = np.select([differs & (value > 0), differs, same], [FASTER, SLOWER, SAME], UNCLEAR)
    moved = [FIXED.format(us) if us and matched.paired else "" for us in each["fixed_us"]]
    wide = [(words == UNCLEAR) & (T95 * part > margin) for part in (between, within)]
    columns = {
        "verdict": words,
        "ratio": np.exp(value),
        "low": np.exp(value - half),
        "high": np.exp(value + half),
        "plain": np.exp(each["plain"].to_numpy()),
        # Of the samples, as the ratios are.
        "time_us_old": each["time_us_old"],
        "time_us_new": each["time_us_new"],
        "note": np.select(wide, [NOISY_PROCESSES, SCATTERED], moved),
    }
    filled = table[list(columns)].copy()
    filled.loc[points] = pd.DataFrame(columns, index=points)
    return {name: filled[name] for name in columns}


def _outside(t: np.ndarray) -> np.ndarray:
    """Return P(|T| > t) for t >= 0 (Abramowitz and Stegun, 26.7.4, even degrees of freedom)."""
    angle = np.arctan(np.asarray(t, float) / np.sqrt(DEGREES))
    term, total = np.ones_like(angle), np.ones_like(angle)
    for k in range(1, DEGREES // 2):
        term = term * np.cos(angle) ** 2 * (2 * k - 1) / (2 * k)
        total = total + term
    return np.clip(1 - np.sin(angle) * total, 0, 1)


def p_beyond(value: np.ndarray, error: np.ndarray, margin: float) -> np.ndarray:
    """Return p of |true value| <= margin, for estimates `value` with standard errors `error`.

    A test for a least relevant effect, after McCarthy and Smyth (Bioinformatics 25(6), 2009): both
    tails, at the edge of the margin.
    """
    upper = (np.abs(value) + margin) / error
    lower = (np.abs(value) - margin) / error
    near = np.where(lower >= 0, _outside(np.abs(lower)) / 2, 1 - _outside(np.abs(lower)) / 2)
    return np.minimum(near + _outside(upper) / 2, 1)


def discoveries(p: np.ndarray, rate: float) -> np.ndarray:
    """Return the mask of significant tests, of which a share `rate` may be false.

    Benjamini and Hochberg (J. R. Statist. Soc. B 57(1), 1995): the k smallest, for the largest k
    with p(k) <= rate · k / n.
    """
    p = np.asarray(p, float)
    ascending = np.sort(p)
    below = ascending[ascending <= rate * np.arange(1, len(p) + 1) / max(len(p), 1)]
    return p <= max(below, default=-1)
