"""How far to trust the rows: A/A, spread between processes, cold calls, flags, faults, accuracy."""

from collections.abc import Collection
from typing import NamedTuple

import pandas as pd

from analysis import markdown as md
from analysis import schema
from analysis.frame import is_baseline, once
from analysis.markdown import percent
from analysis.stats import spread

OTHERS = {
    schema.OTHER_BOARD: "are of another board than most of their matrix: variants of two boards "
    "are compared by their speed-ups over torch alone",
    schema.OTHER_ENVIRONMENT: "of another model of GPU, driver, CUDA, torch, Triton or measuring "
    "code, or with other switches of torch, than the newest rows of their matrix do not rank; "
    "measure them again",
    schema.OTHER_CODE: "of older code or packages than other rows of their variant do not rank; "
    "measure them again",
}
ERRORS = ["max_abs_error", "max_rel_error", "max_row_sum_error"]


class Finding(NamedTuple):
    """One line on trust, and the table behind it, which is written to `file`."""

    title: str
    text: str
    table: pd.DataFrame
    file: str


def findings(rows: pd.DataFrame, unranked: Collection[str]) -> list[Finding]:
    """Return the findings on some measurements; `unranked`: the flags that exclude a row."""
    found = {
        ("A/A", "aa.csv"): _a_a(rows),
        ("Between processes", "processes.csv"): _between(rows),
        ("Cold calls", "cold.csv"): _cold(once(rows[rows["found_in_l2"].notna()])),
        ("Flags", "flags.csv"): _flags(rows, unranked),
        ("Not ok", "not_ok.csv"): _failures(rows),
        ("Accuracy", "accuracy.csv"): _accuracy(rows.dropna(subset=ERRORS, how="all")),
        ("Stale", "stale.csv"): _stale(rows[rows["stale"] == "true"]),
    }
    return [
        Finding(title, text, table.map(lambda x: f"{x:.3g}" if isinstance(x, float) else x), file)
        for (title, file), (text, table) in found.items()
        if text
    ]


def biased(rows: pd.DataFrame) -> list[str]:
    """Return a warning for each operation whose A/A intervals exclude 1 too often."""
    return [
        f"Biased control: on {gpu}, {percent(share)} of the A/A intervals of {op} exclude 1, and "
        "5 % may. All its intervals are widened accordingly"
        for (gpu, op), share in spread.biased_operations(rows).items()
    ]


def _a_a(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    aa = spread.aa_controls(rows)
    if aa.empty:
        return "", aa
    aa = aa.assign(off=(aa["aa_ratio"] - 1).abs(), widened=spread.widening(aa, rows))
    text = (
        f"torch against itself is off by {percent(aa['off'].median(), 2)} in the median, and by "
        f"less than {percent(aa['off'].quantile(0.95), 2)} at 95 % of {len(aa)} rows: smaller "
        f"differences are noise. {percent(aa['excludes'].mean(), 1)} of these intervals exclude 1, "
        f"and 5 % may; all intervals are widened for it, by up to {aa['widened'].max():.2f}x."
    )
    names = {"short": f"torch_up_to_{spread.SHORT_US}_us", "excludes": "intervals_without_1"}
    columns = {"off": ["size", "median", "max"], "excludes": "mean", "widened": "max"}
    groups = aa.rename(columns=names).groupby(["gpu", "origin", "op", names["short"]])
    table = groups.agg({names.get(name, name): of for name, of in columns.items()})
    return text, table.set_axis(["_".join(name) for name in table], axis=1).reset_index()


def _between(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    boards = spread.process_spread(rows)
    text = (
        f"the speed-up of one kernel varies by {percent(boards['a'].median(), 2)} between "
        f"processes, on the worst board by {percent(boards['a'].max(), 2)} and "
        f"{boards['b'].max():.2f} µs a call. Every interval includes this spread."
    )
    lines = [(*key, *values) for key, *values in boards.itertuples(name=None)]
    heads = [*spread.BOARD, "relative", "us_per_call", "degrees_of_freedom"]
    return text * bool(lines), pd.DataFrame(lines, columns=heads)


def _cold(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    text = (
        f"calls find {percent(rows['found_in_l2'].median(), 1)} of their input in L2, at most "
        f"{percent(rows['found_in_l2'].max(), 1)}."
    )
    columns = ["cold_load_cycles", "resident_load_cycles", "found_in_l2"]
    table = rows.groupby(["gpu", "origin", "timing"])[columns].median()
    return text * bool(len(rows)), table.reset_index()


def _flags(rows: pd.DataFrame, unranked: Collection[str]) -> tuple[str, pd.DataFrame]:
    flagged = rows.assign(flag=rows["flags"].str.split()).explode("flag").dropna(subset="flag")
    counts = flagged["flag"].value_counts()
    others = {reason: int((rows["unranked_by"] == reason).sum()) for reason in OTHERS}
    excluded = int((rows["unranked_by"] != "").sum()) - sum(others.values())
    text = (
        f"{md.counts(flagged['flag'], list(counts.index)) or 'no row has a flag'}. Flags that keep "
        f"a row from ranking: {', '.join(unranked) or 'none'}; they exclude "
        f"{md.counted(excluded, 'row')}."
    )
    for reason, count in others.items():
        text += f" {md.counted(count, 'row')} {OTHERS[reason]}." if count else ""
    table = flagged.groupby(["flag", "gpu", "op", "dtype"]).size().rename("rows").reset_index()
    return text, table.assign(meaning=table["flag"].map(lambda flag: schema.FLAGS[flag].meaning))


def _failures(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    rows = rows[(rows["status"] != "ok") | rows["flags"].str.contains(r"\bedge_cases\b")]
    rows = rows.assign(status=rows["status"].replace("ok", "wrong on special values"))
    rows["reason"] = rows["message"].str.replace(r"^[MN] = \d+: ", "", regex=True)
    # messages that differ in their numbers have one reason; the first message stands for all
    alike = rows["reason"].str.replace(r"\d[\d.e+-]*", "#", regex=True)
    groups = rows.groupby(["status", alike.rename("alike")])
    table = groups.agg(
        rows=("status", "size"),
        variants=("variant", lambda names: ", ".join(sorted(set(names)))),
        N=("N", md.span),
        reason=("reason", "first"),
    ).reset_index()
    table = table.sort_values(["status", "rows"], ascending=[True, False]).drop(columns="alike")
    return f"{md.counts(rows['status']) or 'every point is ok'}.", table


def _accuracy(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    right = rows[(rows["status"] != "incorrect") & ~is_baseline(rows)]
    worst = right.groupby("dtype")["max_rel_error"].max().items()
    text = "the largest relative error against float64, of results that pass and are not torch's, "
    text += f"is {', '.join(f'{error:.1e} in {dtype}' for dtype, error in worst)}."
    table = rows.groupby(["gpu", "op", "dtype", "variant", "status"])[ERRORS].max()
    return text * bool(len(right)), table.reset_index()


def _stale(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    text = f"other code than the current one measured {md.counted(len(rows), 'row')}, marked "
    text += "`stale` in measurements.csv. To measure them again: `make record`."
    table = rows.groupby(["gpu", "sweep", "variant"]).size().rename("rows")
    return text * bool(len(rows)), table.reset_index()
