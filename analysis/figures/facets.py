"""A grid of panels that seaborn draws: lines over N with intervals, or dots over M·N."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.figures import labels, style
from analysis.markdown import counted
from analysis.palette import Style

SPARSE = 30  # sizes; a longer line has a marker only now and then
ROOF = {"color": "0.25", "linewidth": 1, "zorder": 1.8}
DASH = {"color": "0.25", "s": 50, "linewidth": 1, "zorder": 1.8}
DASHES = {"copy": (4, 2), "few-row limit": (1, 1), "data sheet": (1, 1)}
HEIGHTS, GAP = {1: 2.9, 2: 1.85, 3: 1.4}, 0.5  # inches of panels in so many rows, and between them


class Facets(NamedTuple):
    """Drawn panels by (band, panel), the rows in them with `x`, and the variants with colours."""

    grid: sns.FacetGrid
    rows: pd.DataFrame
    names: list[str]
    styles: dict[str, Style]
    over: str


def draw(
    rows: pd.DataFrame, names: list[str], styles: dict[str, Style], bands: Sequence[str] = ()
) -> Facets:
    """Draw `y` over N: a row of panels per `band`, a column per `panel`.

    Several `y` at one size are a value between the ends of its interval. `names` have colours and
    markers, the other variants are grey. Rows without a `rule` of M are dots over `elements`.
    """
    over = "N" if (rows["rule"] != "").all() else "elements"
    rows = rows.assign(x=rows[over])
    unnamed = sorted(set(rows["variant"]) - set(names))
    looks = dict.fromkeys(unnamed, Style(style.PALE, ".")) | {name: styles[name] for name in names}
    shared = {
        "data": rows,
        "x": "x",
        "y": "y",
        "row": "band",
        "row_order": [b for b in bands or rows["band"].unique() if b in set(rows["band"])],
        "col": "panel",
        "col_order": list(rows.sort_values("gpu", kind="stable")["panel"].unique()),
        "hue": "variant",
        "style": "variant",
        "hue_order": [*looks],  # the last one is drawn above the others
        "style_order": [*looks],
        "palette": {name: look.colour for name, look in looks.items()},
        "markers": {name: look.marker for name, look in looks.items()},
        "legend": False,
        "facet_kws": {"sharey": "row", "despine": False},
    }
    if over == "elements":
        grid = sns.relplot(kind="scatter", s=24, linewidth=0.4, **shared)
    else:
        grid = sns.relplot(
            kind="line",
            estimator="median",
            errorbar=("pi", 100),
            err_style="bars",
            err_kws={"elinewidth": 1, "capsize": 0 if rows["x"].nunique() > SPARSE else 2},
            dashes=False,
            markersize=5.5,
            markeredgewidth=0.5,
            linewidth=1.4,
            **shared,
        )
    for (band, panel), axes in grid.axes_dict.items():
        _join_neighbours(axes)
        for line in axes.lines:
            if line.get_linestyle() != "None" and len(line.get_xdata()) > SPARSE:
                line.set_markevery(0.04)
        axes.set_xscale("log", base=2, subs=[])
        axes.xaxis.set_major_formatter(lambda n, _: style.size_label(round(n)))
        axes.set_title(f"{panel}, {band}" if len(grid.axes) > 1 else panel)
        axes.set_visible(((rows["band"] == band) & (rows["panel"] == panel)).any())
    return Facets(grid, rows, names, styles, over)


def finish(
    facets: Facets,
    roofs: dict[tuple, pd.DataFrame],
    finding: str,
    about: str,
    facts: str,
    lowest: float | None = 0,
) -> Figure:
    """Draw the rooflines, write the names at the ends of the lines, and set the title.

    `roofs`: the panel and its rows with `name`, `x` and `y`. The axes of values begin at `lowest`.
    """
    grid, rows, names, styles, over = facets
    bands = len(grid.axes)
    unnamed = rows.loc[~rows["variant"].isin(names), "variant"].nunique()
    about += f"; grey: {counted(unnamed, 'other kernel')}" if unnamed else ""
    words = [*names, *(name for part in roofs.values() for name in part["name"])]
    room = labels.width(words)
    height = bands * HEIGHTS[min(bands, 3)] + GAP * (bands - 1)
    figure = style.finish(
        grid.figure, height, finding, about, facts, (0.6, room + 0.06), (room + 0.25, GAP)
    )
    ends = {}
    for (band, panel), axes in grid.axes_dict.items():
        inside = rows[(rows["band"] == band) & (rows["panel"] == panel)]
        named = inside[inside["variant"].isin(names)]
        at_end = named["x"] == named.groupby("variant")["x"].transform("max")
        heights = named[at_end | (over == "elements")].groupby("variant")["y"].median()
        ends[axes] = [labels.End(name, y, *styles[name]) for name, y in heights.items()]
        if (band, panel) in roofs:
            ends[axes] += _draw_roofs(axes, roofs[band, panel], over)
    if lowest is not None:
        grid.set(ylim=(lowest, None))
    for axes, names_at_ends in ends.items():
        labels.write(axes, names_at_ends)
    grid.set_axis_labels("N (columns)" if over == "N" else "M·N (elements)", "")
    return figure


def _join_neighbours(axes: Axes) -> None:
    """Break the lines of a panel between points that are no neighbours among its measured N."""
    curves = [line for line in axes.lines if line.get_linestyle() == "-" and len(line.get_xdata())]
    if not curves:
        return
    places = np.unique(np.concatenate([line.get_xdata() for line in curves]))
    for line in curves:
        x, y = line.get_data()
        gaps = np.flatnonzero(np.diff(np.searchsorted(places, x)) > 1) + 1
        line.set_data(np.insert(x.astype(float), gaps, np.nan), np.insert(y, gaps, np.nan))


def _draw_roofs(axes: Axes, roofs: pd.DataFrame, over: str) -> list[labels.End]:
    """Draw rooflines as lines, or as dashes over M·N; return their names."""
    ends = []
    for name, part in roofs.groupby("name"):
        dashes = (0, DASHES[name])
        if part["y"].nunique() == 1:  # a limit at every size
            axes.axhline(part["y"].iloc[0], linestyle=dashes, **ROOF)
        elif over == "N":
            sns.lineplot(part, x="x", y="y", ax=axes, linestyle=dashes, **ROOF)
        else:
            sns.scatterplot(part, x="x", y="y", ax=axes, marker="_", legend=False, **DASH)
        last = part.loc[part["x"].idxmax(), "y"]
        ends.append(labels.End(name, last, ROOF["color"], "", dashes))
    return ends
