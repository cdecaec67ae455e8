"""A grid of panels that seaborn draws: lines over N with intervals, or dots over M·N."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.figures import labels, style
from analysis.frame import newest_code
from analysis.markdown import counted
from analysis.palette import Style

NEIGHBOUR = 4  # times the smaller one of two sizes, at most, if a line joins them
SPARSE = 30  # sizes; a longer line has a marker only now and then
ROOF = {"color": "0.25", "linewidth": 1, "zorder": 1.8}
DASH = {"color": "0.25", "s": 50, "linewidth": 1, "zorder": 1.8}
DASHES = {"copy": (4, 2), "few-row limit": (1, 1), "data sheet": (1, 1)}
ACROSS = 2  # panels beside each other, where nothing else divides them
HEIGHTS, GAP = {1: 2.9, 2: 1.85, 3: 1.4}, 0.5  # inches of panels in so many rows, and between them
PANEL = ["band", "panel"]


class Facets(NamedTuple):
    """Drawn panels by (band, panel), the rows in them with `x`, and the variants with colours."""

    grid: sns.FacetGrid
    axes: dict[tuple[str, str], Axes]
    rows: pd.DataFrame
    names: list[str]
    styles: dict[str, Style]
    over: str


def draw(
    rows: pd.DataFrame, names: list[str], styles: dict[str, Style], bands: Sequence[str] = ()
) -> Facets:
    """Draw `y` over N: a row of panels per `band`, a column per `panel`.

    The GPU with the smallest share of rows by older code comes first. Several `y` at one size are a
    value between the ends of its interval. `names` have colours and markers, the other variants are
    grey. Rows without a `rule` of M are dots over `elements`.
    """
    over = "N" if (rows["rule"] != "").all() else "elements"
    gpus = newest_code(rows.sort_values("gpu", kind="stable"))
    by_gpu = rows.iloc[rows["gpu"].map(gpus.index).argsort(kind="stable")]
    rows = _with_stretches(rows.assign(x=rows[over]), over == "elements")
    stretches = rows.drop_duplicates("stretch").set_index("stretch")
    looks = stretches["variant"].map(styles)
    bands = [band for band in bands or rows["band"].unique() if band in set(rows["band"])]
    by_band = (
        {"row": "band", "row_order": bands}
        if len(bands) > 1
        else {"col_wrap": min(ACROSS, rows["panel"].nunique())}
    )
    shared = by_band | {
        "col": "panel",
        "col_order": list(by_gpu["panel"].unique()),
        "hue": "stretch",
        "style": "stretch",
        "palette": {stretch: look.colour for stretch, look in looks.items()},
        "markers": {stretch: look.marker for stretch, look in looks.items()},
        "legend": False,
        "facet_kws": {"sharey": "row" if len(bands) > 1 else True, "despine": False},
    }
    named = rows[rows["variant"].isin(names)]
    if over == "elements":
        grid = sns.relplot(named, x="x", y="y", kind="scatter", s=24, linewidth=0.4, **shared)
    else:
        dashes = (stretches["origin"] == "published").map({True: (3, 1.5), False: ""})
        grid = sns.relplot(
            named,
            x="x",
            y="y",
            kind="line",
            estimator="median",
            errorbar=("pi", 100),
            err_style="bars",
            err_kws={"elinewidth": 1, "capsize": 0 if rows["x"].nunique() > SPARSE else 2},
            dashes=dashes.to_dict(),
            markersize=5.5,
            markeredgewidth=0.5,
            linewidth=1.4,
            **shared,
        )
    axes_of = {
        key if len(bands) > 1 else (bands[0], key): axes for key, axes in grid.axes_dict.items()
    }
    for (band, panel), axes in axes_of.items():
        inside = (rows["band"] == band) & (rows["panel"] == panel)
        unnamed = rows[inside & ~rows["variant"].isin(names)]
        if len(unnamed):
            _draw_unnamed(axes, unnamed, over)
        for line in axes.lines:
            if line.get_linestyle() != "None" and len(line.get_xdata()) > SPARSE:
                line.set_markevery(0.04)
        axes.set_xscale("log", base=2, subs=[])
        axes.xaxis.set_major_formatter(lambda n, _: style.size_label(round(n)))
        axes.set_title(f"{panel}, {band}" if len(bands) > 1 else panel)
        axes.set_visible(inside.any())
    return Facets(grid, axes_of, rows, names, styles, over)


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
    grid, axes_of, rows, names, styles, over = facets
    bands = -(-len(axes_of) // ACROSS) if grid.axes.ndim == 1 else len(grid.axes)
    unnamed = rows.loc[~rows["variant"].isin(names), "variant"].nunique()
    about += f"; grey: {counted(unnamed, 'other kernel')}" if unnamed else ""
    words = [*names, *(name for part in roofs.values() for name in part["name"])]
    room = labels.width(words)
    height = bands * HEIGHTS[min(bands, 3)] + GAP * (bands - 1)
    figure = style.finish(
        grid.figure, height, finding, about, facts, (0.6, room + 0.06), (room + 0.25, GAP)
    )
    ends = {}
    for (band, panel), axes in axes_of.items():
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


def _draw_roofs(axes: Axes, roofs: pd.DataFrame, over: str) -> list[labels.End]:
    """Draw rooflines as lines, or as dashes where there is nothing to join; return their names."""
    ends = []
    for name, part in roofs.groupby("name"):
        dashes = (0, DASHES[name])
        if len(part) > 1 and part["y"].nunique() == 1:  # a limit at every size
            axes.axhline(part["y"].iloc[0], linestyle=dashes, **ROOF)
        elif over == "N" and len(part) > 1:
            part = part.assign(band="", panel="", variant=name, origin="")
            line = {"units": "stretch", "estimator": None, "linestyle": dashes}
            sns.lineplot(_with_stretches(part, False), x="x", y="y", ax=axes, **line, **ROOF)
        else:
            sns.scatterplot(part, x="x", y="y", ax=axes, marker="_", legend=False, **DASH)
        last = part.loc[part["x"].idxmax(), "y"]
        ends.append(labels.End(name, last, ROOF["color"], "", dashes))
    return ends


def _draw_unnamed(axes: Axes, unnamed: pd.DataFrame, over: str) -> None:
    """Draw the variants without a name in grey, behind the named ones."""
    if over == "elements":
        grey = {"color": style.PALE, "s": 10, "linewidth": 0}
        sns.scatterplot(unnamed, x="x", y="y", ax=axes, zorder=1.2, legend=False, **grey)
        return
    middle = unnamed.groupby(["stretch", "x"], as_index=False)["y"].median()
    line = {"units": "stretch", "estimator": None, "color": style.PALE, "linewidth": 0.8}
    sns.lineplot(middle, x="x", y="y", ax=axes, zorder=1.2, **line)


def _with_stretches(rows: pd.DataFrame, dots: bool) -> pd.DataFrame:
    """Return the rows with `stretch`: the points of a variant that one line joins.

    It joins neighbours among the sizes of a panel, if the larger one is at most NEIGHBOUR times the
    smaller one. A published variant is no measured one.
    """
    rows = rows.reset_index(drop=True)
    published = (rows["origin"] == "published").map({True: " published", False: ""})
    if dots:
        return rows.assign(stretch=rows["variant"] + published)
    points = rows[[*PANEL, "variant", "x"]].drop_duplicates().sort_values("x")
    points["place"] = points.groupby(PANEL)["x"].rank("dense")
    line = points.groupby([*PANEL, "variant"])
    gap = (line["place"].diff() != 1) | (points["x"] > NEIGHBOUR * line["x"].shift())
    points["stretch"] = gap.groupby([points[name] for name in (*PANEL, "variant")]).cumsum()
    rows = rows.merge(points.drop(columns="place"), on=[*PANEL, "variant", "x"])
    return rows.assign(stretch=rows["variant"] + " " + rows["stretch"].astype("str") + published)
