"""The rows of one shape as text: the ranking, who was not timed, and a sentence on one kernel."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from analysis import frame, ranking, row_files, schema
from analysis import markdown as md
from analysis.frame import is_baseline
from analysis.merge import mark_ranked
from measure.row import WRONG_ON

HEADS = ("rank", "kernel", "in a graph", "eager, host", "over torch [95 %]", "of the limit")
HEADS += ("wrong on",)
NOTES = (
    "In a graph: the time of the kernel alone, in a CUDA graph. Eager, host: the time in which the "
    "host submits one call; an eager caller waits for the longer of both. Of the limit: the share "
    "of the roofline, such as a copy of the same bytes."
)


def load(paths: Iterable[Path]) -> pd.DataFrame:
    """Return the rows of these files, of one shape, ranked as those of a sweep are.

    Raises InputError for a broken row.
    """
    source = {"sweep": "shape", "origin": "measured"}
    rows = [row_files.read_row_file(path) | source for path in paths]
    return ranking.rank_variants(frame.from_rows(mark_ranked(rows)))


def report(table: pd.DataFrame, unmeasured: Mapping[str, str]) -> str:
    """Return the ranking, and who was not timed and why. `table`: as of `load`.

    `unmeasured`: kernel -> why it has no row.
    """
    timed = table[table["rank"].notna()].sort_values("rank")
    lines = [] if timed.empty else [*_aligned([HEADS, *map(_cells, timed.to_dict("records"))])]
    if len(timed):
        lines += [_conclusion(timed), *_of_host(timed), "", NOTES, *frame.legend(timed["flags"])]
    absent = {row["variant"]: _why(row) for row in table[table["rank"].isna()].to_dict("records")}
    if absent | unmeasured:
        lines += ["", "not timed here:"]
        lines += _aligned([("", name, why) for name, why in (absent | unmeasured).items()])
    return "\n".join(lines).strip("\n")


def checked(table: pd.DataFrame, unmeasured: Mapping[str, str]) -> str:
    """Return what the checks found, without a time: a CPU's say nothing about a GPU."""
    found = {row["variant"]: check_of(row) for row in table.to_dict("records")}
    return "\n".join(_aligned([("", *each) for each in (found | unmeasured).items()]))


def check_of(row: Mapping) -> str:
    """Return what a row says about a kernel's results, or why it has none."""
    if row["status"] not in ("ok", "interpreted"):
        return _why(row)
    way = "in Triton's interpreter: " if row["status"] == "interpreted" else ""
    wrong = wrong_on(row)
    return f"{way}right on ordinary values, wrong on {wrong}" if wrong else f"{way}right"


def verdict(table: pd.DataFrame, kernel: str, unmeasured: Mapping[str, str]) -> str:
    """Return one sentence on a kernel: its share of the limit, its rival, what it gets wrong."""
    if kernel in unmeasured:
        return f"{kernel}: {unmeasured[kernel]}"
    row = table[table["variant"] == kernel].iloc[0].to_dict()
    if math.isnan(row["rank"]):
        return f"{kernel}: not timed, {check_of(row)}"
    parts = [f"{md.percent(_of_limit(row))} of the limit", _against_rival(table, row)]
    wrong = wrong_on(row)
    return f"{kernel}: {', '.join(parts)}, {f'wrong on {wrong}' if wrong else 'right everywhere'}"


def fails(table: pd.DataFrame, kernel: str) -> bool:
    """Return whether a kernel has no row, is wrong, or does not run; `unsupported` is a limit."""
    statuses = table.loc[table["variant"] == kernel, "status"]
    return not statuses.isin(("ok", "interpreted", "unsupported")).all() or statuses.empty


def wrong_on(row: Mapping) -> str:
    """Return the special values that a kernel gets wrong, as `rows with -inf`; "" for none."""
    return row["message"].partition(WRONG_ON)[2].partition(":")[0]


def _against_rival(table: pd.DataFrame, row: Mapping) -> str:
    """Return the time over that of the fastest other kernel, which is torch only if all else is."""
    others = table[table["rank"].notna() & (table["variant"] != row["variant"])]
    rivals = others[~is_baseline(others)]
    alone = "" if len(rivals) else " (no other kernel was timed)"
    rivals = (rivals if len(rivals) else others).sort_values("rank")
    if rivals.empty:
        return "no other kernel was timed"
    rival = rivals.iloc[0]
    tie = " (a tie)" if row["in_best_set"] and rival["in_best_set"] else ""
    ratio = rival["speedup"] / row["speedup"]
    return f"{ratio:.2f} times the time of {rival['variant']}{tie}{alone}"


def _conclusion(timed: pd.DataFrame) -> str:
    """Return the winner or the tie, or why there is none."""
    first, best = timed.iloc[0], timed[timed["in_best_set"]]["variant"].tolist()
    if first["no_winner"]:
        return f"no winner: {first['no_winner']}"
    return f"fastest: {best[0]}" if len(best) == 1 else f"a tie: {', '.join(best)}"


def _of_host(timed: pd.DataFrame) -> list[str]:
    """Return a line if an eager caller of the first kernel waits for the host; it is no verdict."""
    first = timed.iloc[0]
    if "launch_bound" not in first["flags"].split():
        return []
    others = timed[is_baseline(timed) & (timed["variant"] != first["variant"])].iloc[:1]
    words = [
        f"{md.number(row.latency_us, 3)} µs a call of {row.variant}"
        for row in (first, *others.itertuples())
    ]
    return [f"called eagerly, it waits for the host: {', '.join(words)}"]


def _of_limit(row: Mapping) -> float:
    """Return the share of the nearest roofline: of few long rows, that of blocks which meet."""
    return row["of_copy"] if math.isnan(row["of_meet"]) else row["of_meet"]


def _cells(row: Mapping) -> Sequence[str]:
    ratio = md.with_interval(row["speedup"], row["speedup_low"], row["speedup_high"])
    latency = row["latency_us"]
    return (
        f"{row['rank']:.0f}",
        row["variant"] + frame.mark(row["flags"]),
        f"{md.number(row['time_us'])} µs",
        "" if math.isnan(latency) else f"{md.number(latency, 3)} µs",
        ratio,
        md.percent(_of_limit(row)),
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
