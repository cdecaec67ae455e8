"""Which rows a set of figures shows, and in which panels."""

from dataclasses import dataclass

import pandas as pd

from analysis import palette, shapes
from analysis.errors import InputError
from analysis.frame import timed
from analysis.published import Published, Source

# More panels than this cannot be read on one page.
MOST_PANELS = 12


@dataclass(frozen=True)
class Selection:
    """The rows of one gpu, dtype and sweep.

    `own` were measured or recorded, `published` come from the tables of the literature with
    `sources` behind them; either may be empty, not both. `styles` has the looks of every variant
    that any figure of these measurements shows.
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
    """One panel: the part of a selection that shares M, and its title."""

    title: str
    own: pd.DataFrame
    published: pd.DataFrame


def select(
    measurements: pd.DataFrame, published: Published, gpu: str, dtype: str, sweep: str
) -> Selection:
    """Rows of (gpu, dtype, sweep). Raises InputError, naming the sets that exist, if none."""
    own, tables = (
        rows[(rows["gpu"] == gpu) & (rows["dtype"] == dtype) & (rows["sweep"] == sweep)]
        for rows in (measurements, published.rows)
    )
    if own.empty and tables.empty:
        raise InputError(
            f"no rows of gpu {gpu}, dtype {dtype}, sweep {sweep}; there are: "
            + "; ".join(" ".join(found) for found in existing(measurements, published))
        )
    found = _sources(published, tables), looks(measurements, published)
    return Selection(gpu, dtype, sweep, own, tables, *found)


def beside_published(
    measurements: pd.DataFrame, published: Published, gpu: str, dtype: str, sweep: str
) -> Selection:
    """The published tables of (dtype, sweep), of whatever GPU, and the rows of `gpu` beside them.

    `own` is restricted to the published points and variants. Raises InputError where there is no
    such table, no row of `gpu` at all (as `select`), or `gpu` is a CPU.
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
    found = _sources(published, tables), looks(measurements, published)
    return Selection(gpu, dtype, sweep, own, tables, *found)


def looks(measurements: pd.DataFrame, published: Published) -> dict[str, palette.Style]:
    """The style of every variant of any figure that is drawn of these rows."""
    return palette.styles({*measurements["variant"], *published.rows["variant"]})


def existing(measurements: pd.DataFrame, published: Published) -> list[tuple[str, str, str]]:
    """Every (gpu, dtype, sweep) that has measured, recorded or published rows, sorted."""
    names = ["gpu", "dtype", "sweep"]
    both = pd.concat([measurements[names], published.rows[names]])
    return sorted(both.drop_duplicates().itertuples(index=False, name=None))


def _sources(published: Published, tables: pd.DataFrame) -> list[Source]:
    used = set(tables["table"])
    return [s for s in published.sources.values() if s.file.removesuffix(".csv") in used]


def panels(selection: Selection, only_timed: bool) -> tuple[list[Panel], int]:
    """The panels to draw and how many there would be without the limit of MOST_PANELS.

    Those of `every_panel`; beyond the limit, an even choice that keeps the first and the last.
    """
    found = every_panel(selection, only_timed)
    return evenly(found, MOST_PANELS), len(found)


def every_panel(selection: Selection, only_timed: bool) -> list[Panel]:
    """The panels of a selection, in order.

    One panel for each operation, input and rule of M (`shapes.by_rule`). Published rows join the
    panels of own rows with their M, whatever their input was. `only_timed` leaves rows without a
    time that counts out first.
    """
    own, tables = selection.own, selection.published
    if only_timed:
        own, tables = own[timed(own)], tables[timed(tables)]
    found: dict[tuple, Panel] = {}
    kinds = own[["op", "distribution"]].drop_duplicates().itertuples(index=False, name=None)
    for op, distribution in sorted(kinds):
        part = own[(own["op"] == op) & (own["distribution"] == distribution)]
        for number, rows in enumerate(shapes.by_rule(part)):
            joined = tables[tables["M"].isin(rows["M"]) & (tables["op"] == op)]
            found[op, distribution, number] = Panel(_title(rows), rows, joined)
    drawn = set().union(*(panel.published.index for panel in found.values()))
    for op, left in tables.drop(index=list(drawn)).groupby("op"):
        for number, rows in enumerate(shapes.by_rule(left)):
            found[op, "published", number] = Panel(_title(rows), own.iloc[:0], rows)
    return [found[key] for key in sorted(found)]


def evenly(items: list, most: int) -> list:
    """At most so many (two at least) of the items: an even choice, with the first and the last."""
    if len(items) <= most:
        return items
    step = (len(items) - 1) / (most - 1)
    return [items[round(i * step)] for i in range(most)]


def _title(rows: pd.DataFrame) -> str:
    (op,), distributions = rows["op"].unique(), sorted(rows["distribution"].unique())
    return f"{op}, {shapes.describe(rows)}, {'/'.join(distributions)} input"
