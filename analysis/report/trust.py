"""How far to trust the rows: A/A, spread between processes, cold calls, flags, faults, accuracy."""

import re
from collections.abc import Collection
from typing import NamedTuple

import pandas as pd

from analysis import markdown as md
from analysis import schema
from analysis.markdown import percent
from analysis.stats import spread

FLAGS = {
    "aa_biased": "torch against itself was off by more than 1 %",
    "clock_drift": "the clock moved by more than 3 %",
    "edge_cases": "right on ordinary input, wrong on special values",
    "faster_than_copy": "faster than a copy of the same bytes, beyond L2: an error of measurement",
    "launch_bound": "a short call: its launch takes longer than the kernel",
    "not_cold": "part of the input was still in the cache",
    "overlaps_calls": "the next call starts early, so the time is a throughput",
    "shared_gpu": "another process used the GPU",
    "throttled": "the driver reduced the clocks",
}


class Table(NamedTuple):
    """Lines of plain values under columns."""

    columns: list[str]
    rows: list[list[object]]


class Finding(NamedTuple):
    """One line on trust, and the table behind it, which is written to `file`."""

    title: str
    text: str
    table: Table
    file: str


def findings(rows: pd.DataFrame, unranked: Collection[str]) -> list[Finding]:
    """Return the findings on some measurements; `unranked`: the flags that exclude a row."""
    parts = [_a_a(rows), _between(rows), _cold(rows), _flags(rows, unranked), _failures(rows)]
    return [part for part in (*parts, _accuracy(rows), _stale(rows)) if part]


def biased(rows: pd.DataFrame) -> list[str]:
    """Return a warning for each operation whose A/A intervals exclude 1 too often."""
    return [
        f"Biased control: on {gpu}, {percent(share)} of the A/A intervals of {op} exclude 1, and "
        "5 % may. All its intervals are widened accordingly"
        for (gpu, op), share in spread.biased_operations(rows).items()
    ]


def _a_a(rows: pd.DataFrame) -> Finding | None:
    aa = spread.aa_controls(rows)
    if aa.empty:
        return None
    aa = aa.assign(off=(aa["aa_ratio"] - 1).abs(), k=spread.widening(aa, rows))
    aa["torch_takes"] = aa["short"].map({False: "over 10 µs", True: "up to 10 µs"})
    text = (
        f"torch against itself is off by {percent(aa['off'].median(), 2)} in the median, and by "
        f"less than {percent(aa['off'].quantile(0.95), 2)} at 95 % of {len(aa)} rows: smaller "
        f"differences are noise. {percent(aa['excludes'].mean(), 1)} of these intervals exclude 1, "
        f"and 5 % may; all intervals are widened by up to {aa['k'].max():.2f}x to allow for it."
    )
    columns = {
        "median_off": lambda part: percent(part["off"].median(), 2),
        "95_percent_below": lambda part: percent(part["off"].quantile(0.95), 2),
        "largest_off": lambda part: percent(part["off"].max(), 2),
        "exclude_1": lambda part: percent(part["excludes"].mean(), 1),
        "widened_by": lambda part: f"{part['k'].iloc[0]:.2f}",
    }
    return Finding(
        "A/A", text, _grouped(aa, ["gpu", "origin", "op", "torch_takes"], columns), "aa.csv"
    )


def _between(rows: pd.DataFrame) -> Finding | None:
    boards = spread.process_spread(rows)
    if boards.empty:
        return None
    text = (
        f"the speed-up of one kernel varies by {percent(boards['a'].median(), 2)} between "
        f"processes, on the worst board by {percent(boards['a'].max(), 2)} and "
        f"{boards['b'].max():.2f} µs a call. Every interval includes this spread."
    )
    lines = [
        [*key, percent(a, 2), f"{b:.3f}", f"{d:.1f}"]
        for key, a, b, d in boards.itertuples(name=None)
    ]
    heads = [*spread.BOARD, "relative", "us_per_call", "degrees_of_freedom"]
    return Finding("Between processes", text, Table(heads, lines), "processes.csv")


def _cold(rows: pd.DataFrame) -> Finding | None:
    rows = rows[rows["found_in_l2"].notna()]
    if rows.empty:
        return None
    columns = {
        "cycles_when_its_turn_comes": lambda part: f"{part['cold_load_cycles'].median():.0f}",
        "cycles_at_once_again": lambda part: f"{part['resident_load_cycles'].median():.0f}",
        "found_in_l2_median": lambda part: percent(part["found_in_l2"].median(), 1),
        "found_in_l2_largest": lambda part: percent(part["found_in_l2"].max(), 1),
    }
    text = f"calls find {percent(rows['found_in_l2'].median(), 1)} of their input in L2, at most "
    text += f"{percent(rows['found_in_l2'].max(), 1)}."
    return Finding(
        "Cold calls", text, _grouped(rows, ["gpu", "origin", "timing"], columns), "cold.csv"
    )


def _flags(rows: pd.DataFrame, unranked: Collection[str]) -> Finding:
    flagged = rows.assign(flag=rows["flags"].str.split()).explode("flag").dropna(subset="flag")
    counts = flagged["flag"].value_counts()
    counts = md.counts(flagged["flag"], list(counts.index)) or "no row has a flag"
    other = rows["unranked_by"] == schema.OTHER_BOARD
    excluded = int(((rows["unranked_by"] != "") & ~other).sum())
    names = " and ".join(unranked)
    text = f"{counts}. " + (
        f"{names} {'keeps' if len(unranked) == 1 else 'keep'} a row from ranking: "
        f"{md.counted(excluded, 'row')}."
        if unranked
        else "No flag keeps a row from ranking (`unranked_flags` is empty)."
    )
    if other.any():
        text += (
            f" {md.counted(int(other.sum()), 'row')} of another board than most of their matrix "
        )
        text += "do not rank."
    columns = {
        "variants": lambda part: part["variant"].nunique(),
        "N": lambda part: md.span(part["N"]),
        "meaning": lambda part: FLAGS[part["flag"].iloc[0]],
    }
    by = ["flag", "gpu", "op", "dtype"]
    return Finding("Flags", text, _grouped(flagged, by, columns), "flags.csv")


def _failures(rows: pd.DataFrame) -> Finding:
    edge_cases = rows["flags"].str.contains(r"\bedge_cases\b")
    rows = rows[(rows["status"] != "ok") | edge_cases]
    status = rows["status"].mask(rows["status"] == "ok", "wrong on special values")
    message = rows["message"].str.replace(r"^[MN] = \d+: ", "", regex=True)
    # messages that differ in their numbers have one reason; the first message stands for all
    alike = message.map(lambda text: re.sub(r"\d[\d.e+-]*", "#", text))
    lines = []
    for (what, _), part in rows.assign(message=message).groupby([status, alike]):
        names = ", ".join(sorted(part["variant"].unique()))
        lines.append([what, len(part), names, md.span(part["N"]), part["message"].iloc[0]])
    lines.sort(key=lambda line: (line[0], -line[1], line[2]))
    text = f"{md.counts(status)}." if len(rows) else "every point is ok."
    heads = ["status", "rows", "variants", "N", "reason"]
    return Finding("Not ok", text, Table(heads, lines), "not_ok.csv")


def _accuracy(rows: pd.DataFrame) -> Finding | None:
    names = ["max_abs_error", "max_rel_error", "max_row_sum_error"]
    rows = rows.dropna(subset=names, how="all")
    right = rows[(rows["status"] != "incorrect") & (rows["variant"] != schema.BASELINE)]
    if rows.empty:
        return None
    worst = ", ".join(
        f"{e:.1e} in {dtype}" for dtype, e in right.groupby("dtype")["max_rel_error"].max().items()
    )
    columns = {name: lambda part, name=name: f"{part[name].max():.2e}" for name in names}
    table = _grouped(rows, ["gpu", "op", "dtype", "variant", "status"], columns)
    text = "the largest relative error against float64, of results that pass and are not torch's, "
    text += f"is {worst}."
    return Finding("Accuracy", text, table, "accuracy.csv")


def _stale(rows: pd.DataFrame) -> Finding | None:
    stale = rows[rows["stale"] == "true"]
    text = (
        f"other code than the current one measured {md.counted(len(stale), 'row')}, marked `stale` "
    )
    text += "in measurements.csv. To measure them again: `make record`."
    table = _grouped(stale, ["gpu", "sweep", "variant"], {})
    return Finding("Stale", text, table, "stale.csv") if len(stale) else None


def _grouped(rows: pd.DataFrame, by: list[str], columns: dict) -> Table:
    """Return a line for each group of rows, with their number and `columns`."""
    lines = [
        [*key, len(part), *(value(part) for value in columns.values())]
        for key, part in rows.groupby(by, sort=True)
    ]
    return Table([*by, "rows", *columns], lines)
