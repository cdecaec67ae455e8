"""Which rows are shown together: a set has one gpu, dtype and sweep; a panel has one rule for M."""

from dataclasses import dataclass

import pandas as pd

from analysis import InputError, palette
from analysis.frame import is_ranked
from analysis.published import Published, Source

SET = ["gpu", "dtype", "sweep"]
MAX_PANELS = 12  # more cannot be read on one page
MIN_SIZES = 3  # sizes of one M·N; fewer may have it by chance


@dataclass(frozen=True)
class Selection:
    """The rows of one gpu, dtype and sweep: `own`, and those of the published tables of `sources`.

    `own` or `published` may be empty. `styles` has every variant of all measurements.
    """

    gpu: str
    dtype: str
    sweep: str
    own: pd.DataFrame
    published: pd.DataFrame
    sources: list[Source]
    styles: dict[str, palette.Style]


@dataclass(frozen=True)
class Panel:
    """The part of a selection that shares M, and its title."""

    title: str
    own: pd.DataFrame
    published: pd.DataFrame


def select(
    measurements: pd.DataFrame, published: Published, gpu: str, dtype: str, sweep: str
) -> Selection:
    """Return the rows of a set. Raises InputError, which names the existing sets, for no rows."""
    own, tables = (
        rows[(rows[SET] == [gpu, dtype, sweep]).all(axis=1)]
        for rows in (measurements, published.rows)
    )
    if own.empty and tables.empty:
        raise InputError(
            f"no rows of gpu {gpu}, dtype {dtype}, sweep {sweep}; there are: "
            + "; ".join(" ".join(key) for key in existing(measurements, published))
        )
    return _selection(measurements, published, gpu, dtype, sweep, own, tables)


def beside_published(
    measurements: pd.DataFrame, published: Published, gpu: str, dtype: str, sweep: str
) -> Selection:
    """Return the published tables of (dtype, sweep), and the rows of `gpu` at their points.

    Raises InputError where there is no such table, no row of `gpu`, or `gpu` is a CPU.
    """
    own = select(measurements, published, gpu, dtype, sweep).own
    rows = published.rows
    tables = rows[(rows["dtype"] == dtype) & (rows["sweep"] == sweep)]
    if tables.empty:
        known = sorted(set(rows["dtype"] + " " + rows["sweep"]))
        raise InputError(
            f"no published table of dtype {dtype}, sweep {sweep}; there are: {'; '.join(known)}"
        )
    if gpu == "cpu":
        raise InputError("a CPU's times do not stand beside those of a GPU; give --gpu a GPU")
    point = ["op", "M", "N", "variant"]
    own = own[pd.MultiIndex.from_frame(own[point]).isin(pd.MultiIndex.from_frame(tables[point]))]
    return _selection(measurements, published, gpu, dtype, sweep, own, tables)


def _selection(measurements, published, gpu, dtype, sweep, own, tables) -> Selection:
    used = set(tables["table"])
    sources = [s for s in published.sources.values() if s.file.removesuffix(".csv") in used]
    return Selection(gpu, dtype, sweep, own, tables, sources, styles(measurements, published))


def styles(measurements: pd.DataFrame, published: Published) -> dict[str, palette.Style]:
    """Return the style of every variant of these rows."""
    return palette.styles({*measurements["variant"], *published.rows["variant"]})


def existing(measurements: pd.DataFrame, published: Published) -> list[tuple[str, str, str]]:
    """Return every (gpu, dtype, sweep) that has measured, recorded or published rows, sorted."""
    both = pd.concat([measurements[SET], published.rows[SET]])
    return sorted(both.drop_duplicates().itertuples(index=False, name=None))


def panels(selection: Selection, only_timed: bool) -> tuple[list[Panel], int]:
    """Return at most MAX_PANELS of `every_panel`, evenly chosen, and how many there are."""
    every = every_panel(selection, only_timed)
    return evenly(every, MAX_PANELS), len(every)


def every_panel(selection: Selection, only_timed: bool) -> list[Panel]:
    """Return a panel for each operation, input distribution and rule of M (`split_by_m`), in order.

    Published rows join the panel of own rows with the same M, whatever the distribution. Published
    rows without such a panel get their own. `only_timed` leaves out the rows without a time.
    """
    own, tables = selection.own, selection.published
    if only_timed:
        own, tables = own[is_ranked(own)], tables[is_ranked(tables)]
    by_key: dict[tuple, Panel] = {}
    for (op, distribution), part in own.groupby(["op", "distribution"], sort=True):
        for number, rows in enumerate(split_by_m(part)):
            joined = tables[tables["M"].isin(rows["M"]) & (tables["op"] == op)]
            by_key[op, distribution, number] = Panel(_title(rows), rows, joined)
    drawn = set().union(*(panel.published.index for panel in by_key.values()))
    for op, left in tables.drop(index=list(drawn)).groupby("op"):
        for number, rows in enumerate(split_by_m(left)):
            by_key[op, "published", number] = Panel(_title(rows), own.iloc[:0], rows)
    return [by_key[key] for key in sorted(by_key)]


def evenly(items: list, most: int) -> list:
    """Return up to `most` of the items (`most` ≥ 2), evenly spaced, with the first and the last."""
    if len(items) <= most:
        return items
    step = (len(items) - 1) / (most - 1)
    return [items[round(i * step)] for i in range(most)]


def _title(rows: pd.DataFrame) -> str:
    (op,), distributions = rows["op"].unique(), sorted(rows["distribution"].unique())
    return f"{op}, {describe_m(rows)}, {'/'.join(distributions)} input"


def one_m_for_each_n(rows: pd.DataFrame) -> bool:
    """Return whether every N of `rows` comes with a single M; True for no rows."""
    return bool((rows.groupby("N")["M"].nunique() <= 1).all())


def describe_m(rows: pd.DataFrame) -> str:
    """Return the M of `rows`, which must not be empty, in words.

    They name the rule, if there is one: `M = 1024`, `M = 2048·N`, `M·N = 100,663,296`, with `≈`
    where M was rounded. Otherwise they give the range: `M = 96 to 786,432`.
    """
    shapes = rows[["M", "N"]].drop_duplicates()
    m, n = shapes["M"], shapes["N"]
    if m.nunique() == 1:
        return f"M = {m.iloc[0]}"
    if (m % n == 0).all() and (m // n).nunique() == 1:
        return f"M = {(m // n).iloc[0]}·N"
    elements = m * n
    if elements.nunique() == 1:
        return f"M·N = {elements.iloc[0]:,}"
    # A constant rounded to a multiple of N lies within N elements of every product.
    if one_m_for_each_n(shapes) and (elements - n).max() <= (elements + n).min():
        # Every N that divides the constant has it exactly, so it is the most frequent product.
        return f"M·N ≈ {elements.mode().iloc[0]:,}"
    return f"M = {m.min():,} to {m.max():,}"


def split_by_m(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Return `rows` in parts, each with a single M for every N.

    If each N has one M, there is one part, unless several M have several sizes each: then a line
    over N would alternate between them. Otherwise there is one part per M, and one per constant M·N
    that at least MIN_SIZES sizes share. A row may be in two parts.
    """
    if rows.empty:
        return []
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
    by_m = [part for _, part in rows.groupby("M") if not drawn.issuperset(part.index)]
    return by_m + products


def moved_kb(rows: pd.DataFrame) -> pd.Series:
    """Return the kilobytes that a call moves, by N; `rows` have one M for each N.

    throughput · time is the number of bytes that the row counts, for every dtype and operation.
    """
    return (rows["throughput_gbps"] * rows["time_us"]).groupby(rows["N"]).median()


def copy_rate(rows: pd.DataFrame) -> pd.Series:
    """Return the copy bandwidth in GB/s by N: a row's bytes over `copy_us`, median of variants."""
    rate = rows["throughput_gbps"] * rows["time_us"] / rows["copy_us"]
    return rate.groupby(rows["N"]).median().dropna()
