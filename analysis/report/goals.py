"""The performance profile in numbers, and the goals of the variant `frontier`."""

import math

import pandas as pd

from analysis import markdown as md
from analysis import palette
from analysis.markdown import Block, Prose, Table
from analysis.ranking import MIN_MATRICES, excluded, profile, within
from analysis.schema import SWEEP_MATRIX

VARIANT = "frontier"
NEAR, FAR = 1, 4  # per cent behind
LARGE_MB, OF_COPY = 128, 0.95  # read and written together; share of the copy's speed
HOW = (
    "At how many points a kernel is at most so much slower than the fastest. A point that a kernel "
    "cannot run, or where it is wrong, counts against it; a time that a flag or its board excludes "
    "does not."
)


def section(rows: pd.DataFrame, what: str) -> list[Block]:
    """Return both tables for one gpu, dtype, sweep and operation; [] for few matrices.

    `rows`: as of `ranking.rank_variants`.
    """
    table = profile(rows)
    if len(table) < MIN_MATRICES:
        return []
    lines = []
    for name in sorted(table, key=palette.order):
        near, far = (_percent(within(table[name], most)) for most in (NEAR, FAR))
        behind = table[name].dropna()
        lines.append([name, len(behind), near, far, *_at(behind, behind.idxmax())])
    heads = ["kernel", "points", f"within {NEAR} %", f"within {FAR} %", "worst", "at"]
    blocks: list[Block] = [Prose(HOW), Table(heads, lines, f"{what}: performance profile")]
    if VARIANT in table and len(table.columns) > 1:
        heads = ["goal of frontier", "points", "reached", "worst", "at"]
        blocks.append(Table(heads, _goals(rows, table), f"{what}: goals"))
    return blocks


def _goals(rows: pd.DataFrame, table: pd.DataFrame) -> list[list]:
    """Return a line for each goal of `frontier`."""
    over = (table[VARIANT] / table.drop(columns=VARIANT).min(axis=1)).dropna()
    lines = []
    for most in (NEAR, FAR):
        goal = f"at most {most} % slower than the best other"
        lines.append([goal, len(over), _percent(within(over, most)), *_at(over, over.idxmax())])
    own = rows[(rows["variant"] == VARIANT) & ~excluded(rows)].set_index(SWEEP_MATRIX)
    # what the variant cannot run reaches nothing, but another variant's shows what is moved there
    of_copy = own["of_copy"].where(own["rank"].notna(), 0.0).fillna(0.0)
    moved = rows["throughput_gbps"] * rows["time_us"] / 1000
    moved_mb = moved.groupby([rows[name] for name in SWEEP_MATRIX]).max()
    of_copy = of_copy[moved_mb.reindex(of_copy.index) >= LARGE_MB]
    if len(of_copy):
        reached = _percent((of_copy >= OF_COPY).mean())
        goal = f"{OF_COPY} of the copy's speed where {LARGE_MB} MB and more are moved"
        lines.append([goal, len(of_copy), reached, *_at(of_copy, of_copy.idxmin())])
    return lines


def _at(values: pd.Series, place: tuple) -> tuple[str, str]:
    """Return the value at a place of `profile`, and its M and N."""
    M, N = place[-2:]
    value = values[place]
    return md.number(value) if 0 < value < math.inf else "does not rank", f"{M}x{N}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
