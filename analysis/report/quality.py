"""The quality of the rows: noise floor, cold calls, flags, statuses that are not ok, accuracy."""

from collections.abc import Collection

import pandas as pd

from analysis.frame import MATRIX
from analysis.report import markdown as md
from analysis.report.markdown import Block, Prose, Table

# Shorter calls have their own line: the variation of a launch matters most for them.
SHORT_US = 10


def noise(measurements: pd.DataFrame) -> list[Block]:
    """Return the noise within a process (A/A) and between processes."""
    return [*within(measurements), *between(measurements)]


def between(measurements: pd.DataFrame) -> list[Block]:
    """Return the deviation of one torch call between the processes of a point."""
    found: list[Block] = []
    for (gpu, origin, op), rows in measurements.groupby(["gpu", "origin", "op"], sort=True):
        known = rows[rows["between_sd"] > 0].drop_duplicates(MATRIX)["between_sd"]
        if len(known):
            points = md.counted(len(known), "point")
            text = (
                f"Between the processes of a point on {gpu} ({origin}, {op}), the time of the "
                f"same torch call has a standard deviation of {100 * known.median():.2f} % in the "
                f"median over {points}, {100 * known.max():.2f} % at most; the intervals of "
                "leads and claims include it."
            )
            found.append(Prose(text))
    return found


def within(measurements: pd.DataFrame) -> list[Block]:
    """Return the A/A control: torch against a second capture of torch, which must give 1."""
    rows = measurements[measurements["aa_ratio"].notna()]
    if rows.empty:
        return [Prose("No row has an A/A control.")]
    rows = rows.assign(
        off=(rows["aa_ratio"] - 1).abs(),
        excludes=(rows["aa_low"] > 1) | (rows["aa_high"] < 1),
        length=(rows["torch_us"] > SHORT_US).map(
            {True: f"over {SHORT_US} µs", False: f"up to {SHORT_US} µs"}
        ),
    )
    lines = [
        [
            *key,
            len(part),
            f"{100 * part['off'].median():.2f} %",
            f"{100 * part['off'].quantile(0.95):.2f} %",
            f"{100 * part['off'].max():.2f} %",
            f"{100 * part['excludes'].mean():.1f} %",
        ]
        for key, part in rows.groupby(["gpu", "origin", "op", "length"], sort=True)
    ]
    columns = [
        *("gpu", "origin", "op", "torch takes", "rows", "median off 1"),
        *("95 % are off by less than", "largest off 1", "intervals that exclude 1"),
    ]
    text = (
        "In every process torch is timed against a second capture of itself. The ratio must be 1; "
        "how far it is off is the noise floor, and 5 % of the 95 % intervals may exclude 1. What "
        "95 % stay below is the smallest difference that a single row can tell from noise."
    )
    return [Prose(text), Table(columns, lines, "noise floor")]


def cold(measurements: pd.DataFrame) -> list[Block]:
    """Return the share of a call's data that was in L2 before it."""
    rows = measurements[measurements["found_in_l2"].notna()]
    if rows.empty:
        return [Prose("No row says what its calls found in the cache.")]
    by = ["gpu", "origin", "timing"]
    lines = [
        [
            *key,
            len(part),
            f"{part['cold_load_cycles'].median():.0f}",
            f"{part['resident_load_cycles'].median():.0f}",
            f"{100 * part['found_in_l2'].median():.1f} %",
            f"{100 * part['found_in_l2'].max():.1f} %",
        ]
        for key, part in rows.groupby(by, sort=True)
    ]
    columns = [
        *(*by, "rows", "cycles of a load when its turn comes", "cycles at once again"),
        *("found in L2, median", "found in L2, at most"),
    ]
    text = (
        "After the timed calls, single loads from the buffers that are next in turn are timed on "
        "the GPU itself, and the same loads at once again, when their lines are in L2."
    )
    return [Prose(text), Table(columns, lines, "cold loads")]


def flags(measurements: pd.DataFrame, unranked: Collection[str]) -> list[Block]:
    """Return the flags that exclude a row from the ranking, and every flag with its rows."""
    return [Prose(_ranking(measurements, unranked)), _carried(measurements)]


def _ranking(measurements: pd.DataFrame, unranked: Collection[str]) -> str:
    setting = "`unranked_flags` in the configuration"
    if not unranked:
        return f"No flag keeps a row from ranking ({setting} is empty)."
    names = " or ".join(f"`{flag}`" for flag in unranked)
    count = md.counted(int((measurements["unranked_by"] != "").sum()), "row")
    return (
        f"A row flagged {names} is not ranked and is no evidence for a claim ({setting}): {count} "
        "here. Any other flag is only a warning."
    )


def _carried(measurements: pd.DataFrame) -> Block:
    rows = (
        measurements.assign(flag=measurements["flags"].str.split())
        .explode("flag")
        .dropna(subset="flag")
    )
    if rows.empty:
        return Prose("No row carries a flag.")
    return _grouped(rows, ["flag", "gpu", "op", "dtype", "variant"], "flags")


def failures(measurements: pd.DataFrame) -> list[Block]:
    """Return the points that are not ok, grouped by status and message."""
    rows = measurements[measurements["status"] != "ok"]
    if rows.empty:
        return [Prose("Every point is ok.")]
    return [_grouped(rows, ["gpu", "op", "dtype", "variant", "status", "message"], "points")]


def accuracy(measurements: pd.DataFrame) -> list[Block]:
    """Return the largest errors against float64, for each operation, dtype and variant."""
    names = ["max_abs_error", "max_rel_error", "max_row_sum_error"]
    rows = measurements.dropna(subset=names, how="all")
    if rows.empty:
        return [Prose("No row has been compared with float64.")]
    by = ["gpu", "op", "dtype", "variant", "status"]
    worst = rows.groupby(by, sort=True)[names].max()
    lines = [
        [*key, *(f"{value:.2e}" for value in line)]
        for key, line in zip(worst.index, worst.to_numpy(), strict=True)
    ]
    return [Table([*by, "absolute", "relative", "row sum"], lines, "accuracy")]


def _grouped(rows: pd.DataFrame, by: list[str], what: str) -> Block:
    lines = [
        [*key, len(part), md.span(part["M"]), md.span(part["N"])]
        for key, part in rows.groupby(by, sort=True)
    ]
    return Table([*by, "rows", "M", "N"], lines, what)
