"""The quality of the rows: noise floor, cold calls, flags, statuses that are not ok, accuracy."""

from collections.abc import Collection

import pandas as pd

from analysis import schema
from analysis import statistics as stats
from analysis.report import markdown as md
from analysis.report.markdown import Block, Prose, Table


def biased(measurements: pd.DataFrame) -> list[Block]:
    """Return a warning for each operation whose A/A control excludes 1 too often."""
    return [
        Prose(
            f"**Biased control**: on {gpu}, {100 * share:.0f} % of the A/A intervals of {op} "
            "exclude 1; 5 % may. All its intervals are widened accordingly (see Noise floor)."
        )
        for (gpu, op), share in stats.biased_operations(measurements).items()
    ]


def noise(measurements: pd.DataFrame) -> list[Block]:
    """Return the noise within a process (A/A) and between processes."""
    return [*within(measurements), *between(measurements)]


def between(measurements: pd.DataFrame) -> list[Block]:
    """Return the spread between processes, of each sweep on each board."""
    found = stats.spread(measurements)
    if found.empty:
        return []
    lines = [
        [*key, f"{100 * a:.2f} %", f"{b:.3f}", f"{d:g}"]
        for key, (a, b, d) in zip(found.index, found.to_numpy(), strict=True)
    ]
    text = (
        "Between processes the speed-up of one kernel varies, too. Torch over the copy, timed in "
        "every process of a matrix, tells by how much: relatively, and by a time per call. Every "
        "interval includes it. Few degrees of freedom stand for heavy tails."
    )
    columns = [*stats.BOARD, "relative", "µs per call", "degrees of freedom"]
    return [Prose(text), Table(columns, lines, "spread between processes")]


def within(measurements: pd.DataFrame) -> list[Block]:
    """Return the A/A control: torch against a second capture of torch, which must give 1."""
    rows = stats.aa(measurements)
    if rows.empty:
        return [Prose("No row has an A/A control.")]
    rows = rows.assign(
        off=(rows["aa_ratio"] - 1).abs(),
        widening=stats.widening(rows, measurements),
        length=rows["short"].map(
            {False: f"over {stats.SHORT_US} µs", True: f"up to {stats.SHORT_US} µs"}
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
            f"{part['widening'].iloc[0]:.2f}",
        ]
        for key, part in rows.groupby(["gpu", "origin", "op", "length"], sort=True)
    ]
    columns = [
        *("gpu", "origin", "op", "torch takes", "rows", "median off 1"),
        *("95 % are off by less than", "largest off 1", "intervals that exclude 1", "widened by"),
    ]
    text = (
        "In every process torch is timed against a second capture of itself. The ratio must be 1, "
        "and 5 % of the 95 % intervals may exclude 1. Where more do, the intervals of all variants "
        "are widened until they would not."
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
    other = measurements["unranked_by"] == schema.OTHER_BOARD
    boards = (
        f" {md.counted(int(other.sum()), 'row')} of another board than most of their matrix do not "
        f"rank either (`{schema.OTHER_BOARD}`)."
        if other.any()
        else ""
    )
    if not unranked:
        return f"No flag keeps a row from ranking ({setting} is empty).{boards}"
    names = " or ".join(f"`{flag}`" for flag in unranked)
    count = md.counted(int(((measurements["unranked_by"] != "") & ~other).sum()), "row")
    return (
        f"A row flagged {names} is not ranked and is no evidence for a claim ({setting}): {count} "
        f"here. Any other flag is only a warning.{boards}"
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
