"""The rows of one shape as text: the ranking, who was not timed, and a sentence on one kernel."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from analysis import frame, ranking, row_files, schema
from analysis import markdown as md
from analysis.eligibility import mark_ranked
from analysis.report.special_rows import SEPARATOR, WRONG
from measure.device.gpus import CPU
from measure.status import RIGHT

HEADS = ("rank", "kernel", "in a graph", "over torch [95 %]", "eager call", "over torch [95 %]")
HEADS += ("of the limit", "wrong on")
NOTES = (
    "In a graph: the time of the kernel alone, in a CUDA graph. Eager call: the longer of this "
    "time and of that in which the host submits a call, because a caller waits for both. Of the "
    "limit: the share of the roofline, such as a copy of the same bytes."
)


def load(paths: Iterable[Path]) -> pd.DataFrame:
    """Return the rows of these files, of one shape, ranked as those of a sweep are.

    Raises InputError for a broken row.
    """
    source = {"sweep": "shape", "origin": "measured"}
    rows = [row_files.read_row_file(path) | source for path in paths]
    table = ranking.rank_variants(frame.from_rows(mark_ranked(rows)))
    return table.assign(of_limit=frame.roofline_share(table))


def report(table: pd.DataFrame, unmeasured: Mapping[str, str]) -> str:
    """Return the ranking, and who was not timed and why. `table`: see `load`.

    `unmeasured`: kernel -> why it has no row.
    """
    timed = table[table["rank"].notna()].sort_values("rank")
    lines = [] if timed.empty else [*_aligned([HEADS, *map(_cells, timed.to_dict("records"))])]
    if len(timed):
        lines += [_conclusion(timed), *_eager_conclusion(timed), "", NOTES]
        lines += frame.legend(timed["flags"])
    absent = {row["variant"]: _why(row) for row in table[table["rank"].isna()].to_dict("records")}
    if absent | unmeasured:
        lines += ["", "not timed here:"]
        lines += _aligned([("", name, why) for name, why in (absent | unmeasured).items()])
    return "\n".join(lines).strip("\n")


def checked(table: pd.DataFrame, unmeasured: Mapping[str, str]) -> str:
    """Return what the checks found, without a time: a CPU's say nothing about a GPU."""
    outcomes = {row["variant"]: check_of(row) for row in table.to_dict("records")}
    return "\n".join(_aligned([("", *outcome) for outcome in (outcomes | unmeasured).items()]))


def check_of(row: Mapping) -> str:
    """Return what a row says about a kernel's results, or why it has none."""
    if row["status"] not in ("ok", "interpreted"):
        return _why(row)
    way = "in Triton's interpreter: " if row["status"] == "interpreted" else ""
    wrong = wrong_on(row)
    return f"{way}right on ordinary values, wrong on {wrong}" if wrong else f"{way}right"


def verdict(table: pd.DataFrame, kernel: str, unmeasured: Mapping[str, str]) -> str:
    """Return one sentence on a kernel: its share of the limit, its rival, what it gets wrong.

    The rival is the fastest that was timed, so the sentence names those that have no row.
    """
    if kernel in unmeasured:
        return f"{kernel}: {unmeasured[kernel]}"
    row = table[table["variant"] == kernel].iloc[0].to_dict()
    if row["gpu"] == CPU or math.isnan(row["rank"]):  # a CPU's time says nothing about a GPU
        return f"{kernel}: not timed, {check_of(row)}"
    parts = [f"{md.percent(row['of_limit'])} of the limit", _against_rival(table, kernel)]
    wrong = wrong_on(row)
    parts += [f"wrong on {wrong}" if wrong else "right everywhere"]
    missing = f"; not timed: {md.listed([*unmeasured])}" if unmeasured else ""
    return f"{kernel}: {', '.join(parts)}{missing}"


def fails(table: pd.DataFrame, kernel: str) -> bool:
    """Return whether a kernel has no row, is wrong, or does not run; `unsupported` is a limit."""
    statuses = table.loc[table["variant"] == kernel, "status"]
    return not statuses.isin(RIGHT).all() or statuses.empty


def wrong_on(row: Mapping) -> str:
    """Return the special rows that a kernel gets wrong, as `large values, rows with -inf`."""
    return row[WRONG].replace(SEPARATOR, ", ")


def _against_rival(table: pd.DataFrame, kernel: str) -> str:
    """Return the time over that of the fastest other kernel, which is torch only if all else is."""
    timed, alone = table[table["rank"].notna()], ""
    leads = ranking.leads(timed, kernel, against_torch=False)
    if leads.empty:
        leads, alone = ranking.leads(timed, kernel), " (no other kernel was timed)"
    if leads.empty:
        return "no other kernel was timed"
    lead, rival, is_tie = leads.iloc[0]
    tie = " (a tie)" if is_tie else ""
    return f"{1 / lead:.2f} times the time of {rival}{tie}{alone}"


def _conclusion(timed: pd.DataFrame) -> str:
    """Return the winner or the tie, or why there is none."""
    (first,) = ranking.winners(timed).to_dict("records")
    if first["no_winner"]:
        return f"no winner: {first['no_winner']}"
    best = first["best"]
    return f"fastest: {best[0]}" if len(best) == 1 else f"a tie: {', '.join(best)}"


def _eager_conclusion(timed: pd.DataFrame) -> list[str]:
    """Return a line that says whether the host or the GPU bounds eager calls of the first."""
    first = timed.iloc[0]
    if math.isnan(first["eager_us"]):
        return []
    if first["eager_us"] <= first["time_us"]:
        return [f"eager calls of {first['variant']} are GPU-bound: as long as in a graph"]
    own, torch = (md.number(first[name], 3) for name in ("eager_us", "torch_eager_us"))
    line = f"eager calls of {first['variant']} are host-bound: {own} µs per call; "
    line += f"{first['baseline']} takes {torch}"
    quickest = timed.loc[timed["eager_us"].idxmin()]
    if quickest["variant"] not in (first["variant"], first["baseline"]):
        line += f"; {quickest['variant']} is the fastest, {md.number(quickest['eager_us'], 3)}"
    return [line]


def _cells(row: Mapping) -> Sequence[str]:
    speedup, eager_speedup = (
        md.with_interval(*(row[f"{way}speedup{end}"] for end in ("", "_low", "_high")))
        for way in ("", "eager_")
    )
    eager_us = row["eager_us"]
    return (
        f"{row['rank']:.0f}",
        row["variant"] + frame.mark(row["flags"]),
        f"{md.number(row['time_us'])} µs",
        speedup,
        "" if math.isnan(eager_us) else f"{md.number(eager_us, 3)} µs",
        eager_speedup,
        md.percent(row["of_limit"]),
        wrong_on(row),
    )


def _why(row: Mapping) -> str:
    if row["status"] == "ok":
        flags = row["unranked_by"].split()
        return "not ranked: " + "; ".join(
            schema.FLAGS[flag].meaning if flag in schema.FLAGS else flag for flag in flags
        )
    return f"{row['status']}: {row['message']}"


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (map(str.ljust, line, widths) for line in lines)
    return ["  ".join(cells).rstrip() for cells in padded]
