"""How far to trust the rows: A/A, spread between processes, cold calls, flags, faults, accuracy."""

from typing import NamedTuple

import pandas as pd

from analysis import markdown as md
from analysis import schema
from analysis.frame import is_baseline, once
from analysis.markdown import percent
from analysis.stats import spread

EXCLUDED = {
    schema.OTHER_BOARD: "measured on a different GPU board than most rows of their shape, and "
    "compared with them by the speed-up over torch alone",
    schema.OTHER_ENVIRONMENT: "left out of the ranking, because the GPU model, the driver, CUDA, "
    "torch or its settings, Triton or the measuring code differ from most rows of their shape; "
    "measure them again",
    schema.OTHER_CODE: "left out of the ranking, because other rows of the kernel have newer code "
    "or packages; measure them again",
}
ERRORS = ["max_abs_error", "max_rel_error", "max_row_sum_error"]


class Control(NamedTuple):
    """What one control says of the rows, and its table, which is written to `file`."""

    title: str
    text: str
    table: pd.DataFrame
    file: str


def controls(rows: pd.DataFrame) -> list[Control]:
    """Return how far to trust some measurements."""
    results = {
        ("Torch against itself", "aa.csv"): _torch_against_itself(rows),
        ("From process to process", "processes.csv"): _process_spread(rows),
        ("Cold cache", "cold.csv"): _cold(once(rows[rows["found_in_l2"].notna()])),
        ("Flags", "flags.csv"): _flags(rows),
        ("Failures", "not_ok.csv"): _failures(rows),
        ("Accuracy", "accuracy.csv"): _accuracy(rows.dropna(subset=ERRORS, how="all")),
        ("Older code", "stale.csv"): _stale(rows[rows["stale"] == "true"]),
    }
    return [
        Control(title, text, table.map(lambda x: f"{x:.3g}" if isinstance(x, float) else x), file)
        for (title, file), (text, table) in results.items()
        if text
    ]


def _torch_against_itself(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    aa = spread.aa_controls(rows)
    if aa.empty:
        return "", aa
    aa = aa.assign(off=(aa["aa_ratio"] - 1).abs(), widened=spread.widening(aa, rows))
    text = (
        f"Every run also times torch against itself. Half of these {len(aa)} pairs differ by less "
        f"than {percent(aa['off'].median(), 2)}, and 95 % by less than "
        f"{percent(aa['off'].quantile(0.95), 2)}: smaller differences are noise. Torch against "
        f"itself looks different in {percent(aa['excludes'].mean(), 1)} of runs (5 % is chance), "
        f"so the intervals were widened, up to {aa['widened'].max():.1f} times, to compensate."
    )
    names = {"short": f"torch_up_to_{spread.SHORT_US}_us", "excludes": "intervals_without_1"}
    columns = {"off": ["size", "median", "max"], "excludes": "mean", "widened": "max"}
    groups = aa.rename(columns=names).groupby(["gpu", "origin", "op", names["short"]])
    table = groups.agg({names.get(name, name): way for name, way in columns.items()})
    return text, table.set_axis(["_".join(name) for name in table], axis=1).reset_index()


def _process_spread(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    boards = spread.process_spread(rows)
    text = (
        f"A kernel's speed-up over torch varies by {percent(boards['a'].median(), 2)} between "
        f"processes, and by {percent(boards['a'].max(), 2)} plus {boards['b'].max():.2f} µs per "
        f"call on the worst board. Every interval includes its board's spread."
    )
    lines = [(*key, *values) for key, *values in boards.itertuples(name=None)]
    heads = [*spread.BOARD, "relative", "us_per_call", "degrees_of_freedom"]
    return text * bool(lines), pd.DataFrame(lines, columns=heads)


def _cold(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    text = (
        "Every call should start with a cold L2. As a check, we measured how much of its input a "
        f"call still finds there: {percent(rows['found_in_l2'].median(), 1)} in the median, and "
        f"{percent(rows['found_in_l2'].max(), 1)} at most."
    )
    columns = ["cold_load_cycles", "resident_load_cycles", "found_in_l2"]
    table = rows.groupby(["gpu", "origin", "timing"])[columns].median()
    return text * bool(len(rows)), table.reset_index()


def _flags(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    flagged = rows.assign(flag=rows["flags"].str.split()).explode("flag").dropna(subset="flag")
    counts = flagged["flag"].value_counts()
    by_rows = {reason: int((rows["unranked_by"] == reason).sum()) for reason in EXCLUDED}
    excluded = int((rows["unranked_by"] != "").sum()) - sum(by_rows.values())
    words = {flag: f"{n} ({schema.FLAGS[flag].meaning})" for flag, n in counts.items()}
    excluding = [words.pop(flag) for flag in schema.UNRANKED if flag in words]
    text = f"Rows that deserve a second look: {', '.join(words.values()) or 'none'}."
    text += f" {md.counted(excluded, 'row')} left out of the ranking"
    text += f": {', '.join(excluding)}." if excluding else "."
    for reason, count in by_rows.items():
        text += f" {md.counted(count, 'row')}: {EXCLUDED[reason]}." if count else ""
    table = flagged.groupby(["flag", "gpu", "op", "dtype"]).size().rename("rows").reset_index()
    return text, table.assign(meaning=table["flag"].map(lambda flag: schema.FLAGS[flag].meaning))


def _failures(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    rows = rows[(rows["status"] != "ok") | rows["flags"].str.contains(r"\bedge_cases\b")]
    rows = rows.assign(status=rows["status"].replace("ok", "wrong on special values"))
    rows["reason"] = rows["message"].str.replace(
        r"^(repeated from replicate \d+: )?([MN] = \d+: )?", "", regex=True
    )
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
    if table.empty:
        return "Every row is right and timed.", table
    return f"Rows that are wrong, or have no time: {md.counts(rows['status'])}.", table


def _accuracy(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    right = rows[(rows["status"] != "incorrect") & ~is_baseline(rows)]
    worst = right.groupby("dtype")["max_rel_error"].max().items()
    text = "Every result is compared with float64. The largest relative error of a kernel that "
    text += (
        f"passes, torch aside, is {', '.join(f'{error:.1e} in {dtype}' for dtype, error in worst)}."
    )
    table = rows.groupby(["gpu", "op", "dtype", "variant", "status"])[ERRORS].max()
    return text * bool(len(right)), table.reset_index()


def _stale(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    text = f"{md.counted(len(rows), 'row')} predate the current code (`stale` in "
    text += "measurements.csv). `make record` measures them again."
    table = rows.groupby(["gpu", "sweep", "variant"]).size().rename("rows")
    return text * bool(len(rows)), table.reset_index()
