"""Which rows are shown together: a set has one gpu, dtype and sweep; a panel has one rule for M."""

from typing import NamedTuple

import pandas as pd

from analysis import palette
from analysis.frame import is_ranked
from analysis.published import Published, Source

SET = ["gpu", "dtype", "sweep"]
MIN_SIZES = 3  # sizes of one M, or of one M·N, which fewer may have by chance


class Selection(NamedTuple):
    """The `own` rows of a gpu, dtype and sweep, and `published` ones; `styles` of all variants."""

    gpu: str
    dtype: str
    sweep: str
    own: pd.DataFrame
    published: pd.DataFrame
    sources: list[Source]
    styles: dict[str, palette.Style]


class Panel(NamedTuple):
    """The part of a selection that shares a rule for M, over `N`.

    Without a rule it is over `elements`: a line over N would join what has nothing in common.
    """

    title: str
    rows: pd.DataFrame
    over: str = "N"


def select(
    measurements: pd.DataFrame, published: Published, gpu: str, dtype: str, sweep: str
) -> Selection:
    """Return the rows of a set, of which there may be none."""
    both = measurements, published.rows
    own, tables = (rows[(rows[SET] == [gpu, dtype, sweep]).all(axis=1)] for rows in both)
    sources = [published.sources[f"{table}.csv"] for table in tables["table"].unique()]
    styles = palette.styles(name for rows in both for name in rows["variant"])
    return Selection(gpu, dtype, sweep, own, tables, sources, styles)


def existing(measurements: pd.DataFrame, published: Published) -> list[tuple[str, str, str]]:
    """Return every (gpu, dtype, sweep) that has measured, recorded or published rows, sorted."""
    both = pd.concat([measurements[SET], published.rows[SET]])
    return sorted(both.drop_duplicates().itertuples(index=False, name=None))


def panels(selection: Selection) -> list[Panel]:
    """Return a panel for each operation and rule of M (`split_by_m`) of the timed rows.

    Rows of another board count, and published rows join the measured ones. The columns `elements`
    and `row` are added: M·N, and the index of the row in `own` or `published`.
    """
    own = selection.own[is_ranked(selection.own, any_board=True)]
    parts = [rows.assign(row=rows.index) for rows in (own, selection.published)]
    both = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    both["elements"] = both["M"] * both["N"]
    found = []
    for op, rows in both.groupby("op"):
        for part in split_by_m(rows):
            name = f"{op}, {describe_m(part)}, {'/'.join(sorted(set(part['distribution'])))} input"
            found.append(Panel(name, part, "N" if rule_of_m(part) else "elements"))
    return found


def one_m_for_each_n(rows: pd.DataFrame) -> bool:
    """Return whether every N of `rows` comes with a single M; True for no rows."""
    return bool((rows.groupby("N")["M"].nunique() <= 1).all())


def describe_m(rows: pd.DataFrame) -> str:
    """Return the M of `rows`: `rule_of_m`, or else `M = 96 to 786,432`."""
    return rule_of_m(rows) or f"M = {rows['M'].min():,} to {rows['M'].max():,}"


def rule_of_m(rows: pd.DataFrame) -> str:
    """Return the rule that gives M for each N in words; "" where there is none.

    `M = 1024`, `M = 2048·N`, `M·N = 100,663,296`, or with `≈` where M was rounded.
    """
    shapes = rows[["M", "N"]].drop_duplicates()
    m, n, elements = shapes["M"], shapes["N"], shapes["M"] * shapes["N"]
    if m.nunique() == 1:
        return f"M = {m.iloc[0]}"
    if (m % n == 0).all() and (m // n).nunique() == 1:
        return f"M = {(m // n).iloc[0]}·N"
    if elements.nunique() == 1:
        return f"M·N = {elements.iloc[0]:,}"
    # A constant rounded to a multiple of N lies within N elements of every product. Every N that
    # divides the constant has it exactly, so it is the most frequent product.
    if one_m_for_each_n(shapes) and (elements - n).max() <= (elements + n).min():
        return f"M·N ≈ {elements.mode().iloc[0]:,}"
    return ""


def split_by_m(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Return `rows` in parts, each with one rule for M, and a last one for the sizes without one.

    If each N has one M, there is one part, unless several M have several sizes each: then a line
    over N would alternate between them. Otherwise there is one part per M with MIN_SIZES sizes, and
    one per constant M·N that as many sizes share. A row may be in two parts.
    """
    shapes = rows[["M", "N"]].drop_duplicates()
    lone = shapes[shapes.groupby("M")["N"].transform("size") == 1]
    if one_m_for_each_n(shapes) and (len(lone) or shapes["M"].nunique() == 1):
        return [rows]
    products = []
    while len(lone):
        # The M·N that fits the most shapes, where M is rounded down.
        every = sorted(map(int, (lone["M"] * lone["N"]).unique()))
        elements = max(every, key=lambda e: (lone["M"] == e // lone["N"]).sum())
        follows = lone["M"] == elements // lone["N"]
        if follows.sum() < MIN_SIZES:
            break
        products.append(rows[rows["M"] == elements // rows["N"]])
        lone = lone[~follows]
    drawn = set().union(*(part.index for part in products))
    parts = [part for _, part in rows.groupby("M") if not drawn.issuperset(part.index)]
    few = [part for part in parts if part["N"].nunique() < MIN_SIZES]
    many = [part for part in parts if part["N"].nunique() >= MIN_SIZES] + products
    return [*many, pd.concat(few).sort_index()] if few else many


def copy_rate(rows: pd.DataFrame, over: str = "N") -> pd.Series:
    """Return the copy bandwidth in GB/s by N: a row's bytes over `copy_us`, median of variants."""
    # throughput · time is the number of bytes that the row counts, for every dtype and operation
    rate = rows["throughput_gbps"] * rows["time_us"] / rows["copy_us"]
    return rate.groupby(rows[over]).median().dropna()
