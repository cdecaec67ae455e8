"""The ranking: wins, ties and losses, and the best set of every matrix."""

import pandas as pd

from analysis import markdown as md
from analysis.frame import distinct, legend, named, outcomes
from analysis.markdown import Block, Heading, Prose, Table
from analysis.panels import one_m_for_each_n
from analysis.ranking import win_tie_loss
from analysis.report import goals
from analysis.schema import BASELINE

SIZE_COLUMNS = ["op", "distribution", "M", "N"]  # of one gpu, dtype and sweep
ENDS = ("best", "low", "high")


def section(summary: pd.DataFrame, names: dict[str, str]) -> list[Block]:
    """Return one part per GPU, measured before recorded; `names` maps slugs to full names."""
    if summary.empty:
        return [Prose("No rows were measured or recorded; what follows is from the literature.")]
    parts: list[Block] = []
    # `measured` sorts before `recorded`.
    for (origin, gpu), rows in summary.groupby(["origin", "gpu"], sort=True):
        note = " (recorded, not measured in this run)" if origin == "recorded" else ""
        parts.append(Heading(f"{names[gpu]} — `{gpu}`{note}"))
        for (dtype, sweep, op), part in rows.groupby(["dtype", "sweep", "op"], sort=True):
            what = f"sweep `{sweep}`" + ("" if op == "softmax" else f", {op}")
            parts.append(Prose(_sentence(f"On **{names[gpu]}** in {dtype} ({what})", part)))
            parts += goals.section(part, f"{dtype}, {sweep}")
            if part["rank"].notna().any():
                parts += _table(part, f"{dtype}, {sweep}: every matrix")
    return [*parts, *(Prose(f"{line}.") for line in legend(summary["flags"]))]


def _sentence(where: str, rows: pd.DataFrame) -> str:
    """Return a paragraph: wins, ties, losses, and the fraction of the copy bandwidth."""
    first = rows[rows["rank"] == 1]
    if first.empty:
        return f"{where} no row has a valid time: {md.counts(outcomes(rows))}."
    total = int((first["competitors"] > 1).sum())
    text = where
    if total:
        table = win_tie_loss(rows).sort_values(["wins", "ties"], ascending=False, kind="stable")
        for at, (variant, (wins, ties, losses)) in enumerate(table.iterrows()):
            if at == 0:
                text += f" **{variant}** wins at {wins} of {md.counted(total, 'matrix')}"
                text += f", ties at {ties} and loses at {losses}"
            elif wins:
                text += f"; {variant} wins at {wins}"
    if alone := len(first) - total:
        text += f"{'.' if total else ''} At {alone} only one variant ranks, so none wins"
    faster = first[first["variant"] != BASELINE]["speedup"].dropna()
    if len(faster):
        text += f". Where it is not torch, the fastest is {md.span(faster)}x as fast as torch"
    if first["of_copy"].notna().any():
        text += f". The fastest reaches {md.span(first['of_copy'])} of the copy bandwidth"
    interpreted = rows[rows["status"] == "interpreted"]["variant"].nunique()
    if interpreted:
        text += (
            f". Only the torch variants are timed here: {md.counted(interpreted, 'Triton variant')}"
            " ran in Triton's interpreter, which checks results but gives no times"
        )
    # One of them may be faster than the winner.
    unranked = rows[rows["unranked_by"] != ""]["unranked_by"]
    if len(unranked):
        reasons = ", ".join(distinct(unranked.str.split().explode()))
        text += f". Not ranked: {md.counted(len(unranked), 'row')} ({reasons})"
    return text + "."


def _table(rows: pd.DataFrame, what: str) -> list[Block]:
    first = rows[rows["rank"] == 1]
    varying = [name for name in SIZE_COLUMNS if name == "N" or first[name].nunique() > 1]
    fixed = ", ".join(
        f"{name} = {first[name].iloc[0]}" for name in SIZE_COLUMNS if name not in varying
    )
    columns = [
        *(*varying, "fastest", "time (µs)", "speed-up over torch", "also in the best set"),
        *("next", "its time / the fastest's", "of copy"),
    ]
    lines = []
    # Sort by N where each N has its own M: for a constant M·N, M would reverse the order.
    by = [*SIZE_COLUMNS[:2], "N", "M"] if one_m_for_each_n(first) else SIZE_COLUMNS
    for _, part in rows[rows["rank"].notna()].sort_values("rank").groupby(by, sort=True):
        row, *others = part.to_dict("records")
        rest = next((other for other in others if not other["in_best_set"]), None)
        speedup = md.with_interval(row["speedup"], row["speedup_low"], row["speedup_high"])
        lines.append(
            [
                *(row[name] for name in varying),
                named(row),
                md.number(row["time_us"]),
                "1 (is torch)" if row["variant"] == BASELINE else speedup,
                ", ".join(named(other) for other in others if other["in_best_set"]),
                named(rest) if rest else "",
                md.with_interval(*(rest[f"behind_{x}"] for x in ENDS)) if rest else "",
                md.number(row["of_copy"], 3),
            ]
        )
    intro = [Prose(f"{fixed}.")] if fixed else []
    return [*intro, Table(columns, lines, what)]
