"""The verdict: the fastest variants, their leads, and the significance of these."""

import pandas as pd

from analysis.frame import distinct, outcomes
from analysis.panels import one_m_for_each_n
from analysis.report import markdown as md
from analysis.report.markdown import Block, Heading, Prose, Table
from analysis.statistics import BASELINE

MATRIX = ["op", "distribution", "M", "N"]  # of one gpu, dtype and sweep


def section(summary: pd.DataFrame, names: dict[str, str]) -> list[Block]:
    """Return one part per GPU, measured before recorded; `names` maps slugs to full names."""
    if summary.empty:
        return [Prose("No rows were measured or recorded; what follows is from the literature.")]
    parts: list[Block] = []
    # `measured` sorts before `recorded`.
    for (origin, gpu), rows in summary.groupby(["origin", "gpu"], sort=True):
        mark = " (recorded, not measured in this run)" if origin == "recorded" else ""
        parts.append(Heading(f"{names[gpu]} — `{gpu}`{mark}"))
        for (dtype, sweep, op), part in rows.groupby(["dtype", "sweep", "op"], sort=True):
            what = f"sweep `{sweep}`" + ("" if op == "softmax" else f", {op}")
            parts.append(Prose(_sentence(f"On **{names[gpu]}** in {dtype} ({what})", part)))
            winners = part[part["best"]]
            if len(winners):
                parts += _table(winners, f"{dtype}, {sweep}: every point")
    return parts


def _sentence(where: str, rows: pd.DataFrame) -> str:
    """Return a paragraph: wins, significance of leads, and fraction of the copy bandwidth."""
    winners = rows[rows["best"]]
    if winners.empty:
        counts = outcomes(rows).value_counts().sort_index()
        return f"{where} no row has a time that counts: {_counts(counts)}."
    total = md.counted(len(winners), "point")
    wins = winners["variant"].value_counts()
    first, *others = sorted(wins.items(), key=lambda item: (-item[1], item[0]))
    text = f"{where} **{first[0]}** is fastest at {first[1]} of {total}"
    if others:
        text += "; " + ", ".join(f"{variant} at {count}" for variant, count in others)
    sure, alone = int(winners["lead_sure"].sum()), int((winners["runner_up"] == "").sum())
    text += (
        f". The lead over the runner-up is sure (its 95 % interval excludes 1) at {sure} of "
        f"{total}, with a median of {md.number(winners['lead'].median())}x"
        + (f"; at {alone} no other variant is timed" if alone else "")
        if winners["lead"].notna().any()
        else ". No other variant is timed, so there is no lead"
    )
    faster = winners[winners["variant"] != BASELINE]["speedup"].dropna()
    if len(faster):
        text += f". Where it is not torch, the fastest is {_range(faster)}x as fast as torch"
    if winners["of_copy"].notna().any():
        text += f". The fastest reaches {_range(winners['of_copy'])} of the speed of a copy"
    interpreted = rows[rows["status"] == "interpreted"]["variant"].nunique()
    if interpreted:
        text += (
            f". Only the torch variants are timed here: {md.counted(interpreted, 'Triton variant')}"
            " ran in Triton's interpreter, which checks results but gives no times"
        )
    # A faster row may have been excluded because of a flag.
    unranked = rows[rows["unranked_by"] != ""]["unranked_by"]
    if len(unranked):
        flags = ", ".join(distinct(unranked.str.split().explode()))
        text += f". Not ranked: {md.counted(len(unranked), 'row')} flagged {flags}"
    return text + "."


def _table(winners: pd.DataFrame, what: str) -> list[Block]:
    varying = [name for name in MATRIX if name == "N" or winners[name].nunique() > 1]
    fixed = ", ".join(f"{name} = {winners[name].iloc[0]}" for name in MATRIX if name not in varying)
    columns = [
        *(*varying, "fastest", "time (µs)", "speed-up over torch", "runner-up", "lead over it"),
        *("sure", "of copy"),
    ]
    rows = []
    # By size of a row where each has its own M; M alone would turn M·N = const upside down.
    by = [*MATRIX[:2], "N", "M"] if one_m_for_each_n(winners) else MATRIX
    for row in winners.sort_values(by).to_dict("records"):
        speedup = md.with_interval(row["speedup"], row["speedup_low"], row["speedup_high"])
        lead = md.with_interval(row["lead"], row["lead_low"], row["lead_high"])
        rows.append(
            [
                *(row[name] for name in varying),
                row["variant"] + (f" ({row['flags']})" if row["flags"] else ""),
                md.number(row["time_us"]),
                "1 (is torch)" if row["variant"] == BASELINE else speedup,
                row["runner_up"],
                lead,
                ("yes" if row["lead_sure"] else "no") if row["runner_up"] else "",
                md.number(row["of_copy"], 3),
            ]
        )
    intro = [Prose(f"{fixed}.")] if fixed else []
    return [*intro, Table(columns, rows, what)]


def _counts(counts: pd.Series) -> str:
    return ", ".join(f"{count} {status}" for status, count in counts.items())


def _range(values: pd.Series) -> str:
    low, high = md.number(values.min(), 3), md.number(values.max(), 3)
    return low if low == high else f"{low} to {high}"
