"""The quality of the rows: noise floor, cold calls, flags, statuses that are not ok, accuracy."""

from collections.abc import Callable, Collection

import pandas as pd

from analysis import markdown as md
from analysis import schema
from analysis.markdown import Block, Prose, Table
from analysis.stats import spread


def biased(measurements: pd.DataFrame) -> list[Block]:
    """Return a warning for each operation whose A/A intervals exclude 1 too often."""
    return [
        Prose(
            f"**Biased control**: on {gpu}, {100 * share:.0f} % of the A/A intervals of {op} "
            "exclude 1; 5 % may. All its intervals are widened accordingly (see Noise floor)."
        )
        for (gpu, op), share in spread.biased_operations(measurements).items()
    ]


def noise(measurements: pd.DataFrame) -> list[Block]:
    """Return the noise within a process (A/A) and between processes."""
    return [*within(measurements), *between(measurements)]


def between(measurements: pd.DataFrame) -> list[Block]:
    """Return the spread between processes, of each sweep on each board."""
    lines = [
        [*key, f"{100 * a:.2f} %", f"{b:.3f}", f"{d:.1f}"]
        for key, a, b, d in spread.process_spread(measurements).itertuples(name=None)
    ]
    text = (
        "The speed-up of one kernel also varies between processes. The ratio torch / copy, which "
        "every process times, shows by how much: relatively, and by a time per call. Every "
        "interval includes this spread. Few degrees of freedom mean heavy tails."
    )
    columns = [*spread.BOARD, "relative", "µs per call", "degrees of freedom"]
    return [Prose(text), Table(columns, lines, "spread between processes")] if lines else []


def within(measurements: pd.DataFrame) -> list[Block]:
    """Return the A/A control: torch against a second capture of itself, a ratio of 1."""
    rows = spread.aa_controls(measurements)
    if rows.empty:
        return [Prose("No row has an A/A control.")]
    over, up_to = f"over {spread.SHORT_US} µs", f"up to {spread.SHORT_US} µs"
    rows = rows.assign(
        off=100 * (rows["aa_ratio"] - 1).abs(),
        k=spread.widening(rows, measurements),
        **{"torch takes": rows["short"].map({False: over, True: up_to})},
    )
    columns = {
        "median off 1": lambda part: f"{part['off'].median():.2f} %",
        "95 % are off by less than": lambda part: f"{part['off'].quantile(0.95):.2f} %",
        "largest off 1": lambda part: f"{part['off'].max():.2f} %",
        "intervals that exclude 1": lambda part: f"{100 * part['excludes'].mean():.1f} %",
        "widened by": lambda part: f"{part['k'].iloc[0]:.2f}",
    }
    text = (
        "In every process torch is timed against a second capture of itself. The ratio must be 1, "
        "and 5 % of the 95 % intervals may exclude 1. Where more do, the intervals of all variants "
        "are widened until they would not."
    )
    by = ["gpu", "origin", "op", "torch takes"]
    return [Prose(text), _grouped(rows, by, "noise floor", columns)]


def cold(measurements: pd.DataFrame) -> list[Block]:
    """Return the share of a call's data that was in L2 before the call."""
    rows = measurements[measurements["found_in_l2"].notna()]
    if rows.empty:
        return [Prose("No row says what its calls found in the cache.")]
    columns = {
        "cycles of a load when its turn comes": lambda p: f"{p['cold_load_cycles'].median():.0f}",
        "cycles at once again": lambda p: f"{p['resident_load_cycles'].median():.0f}",
        "found in L2, median": lambda p: f"{100 * p['found_in_l2'].median():.1f} %",
        "found in L2, at most": lambda p: f"{100 * p['found_in_l2'].max():.1f} %",
    }
    text = (
        "After the timed calls, the GPU's clock times single loads from the buffers that are next "
        "in turn. The same loads are timed again at once, when their lines are in L2."
    )
    return [Prose(text), _grouped(rows, ["gpu", "origin", "timing"], "cold loads", columns)]


def flags(measurements: pd.DataFrame, unranked: Collection[str]) -> list[Block]:
    """Return the flags that exclude a row from the ranking, and every flag with its rows."""
    rows = measurements.assign(flag=measurements["flags"].str.split()).explode("flag")
    rows = rows.dropna(subset="flag")
    carried = Prose("No row carries a flag.")
    if len(rows):
        carried = _grouped(rows, ["flag", "gpu", "op", "dtype", "variant"], "flags", SIZES)
    return [Prose(_ranking(measurements, unranked)), carried]


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


def failures(measurements: pd.DataFrame) -> list[Block]:
    """Return the points that are not ok or wrong on special values, by status and message."""
    edge_cases = measurements["flags"].str.contains(r"\bedge_cases\b")
    rows = measurements[(measurements["status"] != "ok") | edge_cases]
    by = ["gpu", "op", "dtype", "variant", "status", "message"]
    return [_grouped(rows, by, "points", SIZES) if len(rows) else Prose("Every point is ok.")]


def accuracy(measurements: pd.DataFrame) -> list[Block]:
    """Return the largest errors against float64, for each operation, dtype and variant."""
    names = {"absolute": "max_abs_error", "relative": "max_rel_error"}
    names["row sum"] = "max_row_sum_error"
    rows = measurements.dropna(subset=list(names.values()), how="all")
    if rows.empty:
        return [Prose("No row has been compared with float64.")]
    columns = {head: lambda p, name=name: f"{p[name].max():.2e}" for head, name in names.items()}
    by = ["gpu", "op", "dtype", "variant", "status"]
    return [_grouped(rows, by, "accuracy", columns)]


SIZES = {name: lambda part, name=name: md.span(part[name]) for name in ("M", "N")}


def _grouped(
    rows: pd.DataFrame, by: list[str], what: str, columns: dict[str, Callable[..., str]]
) -> Table:
    """Return a table: a line for each group of rows, with their number and `columns`."""
    lines = [
        [*key, len(part), *(value(part) for value in columns.values())]
        for key, part in rows.groupby(by, sort=True)
    ]
    return Table([*by, "rows", *columns], lines, what)
