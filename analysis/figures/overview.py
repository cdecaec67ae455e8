"""One page for all that was timed: how near to the speed of memory, and by which variant."""

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator, PercentFormatter

from analysis import palette, schema
from analysis.figures import axes as shared
from analysis.figures import caption, controls, lines, strip, winners
from analysis.figures.grid import Grid
from analysis.figures.page import DOUBLE, SMALL, Page
from analysis.figures.select import Panel, every_panel, existing, looks, select
from analysis.palette import Style
from analysis.published import Published
from analysis.ratios import BASELINE

MOST = 15  # panels
TICK = 0.29  # inches that a tick of N needs
IN_FRONT = 6  # variants besides torch and rivals
MUTED = "0.75"
DTYPES = list(schema.ITEMSIZE)  # in the order of the page
HOW = [
    "dashed: a copy of the same bytes, timed in the same process; lines: the copy's time over the "
    "variant's; bands: the same by the 0.2 and the 0.8 quantile of its times",
    "strips: the fastest at each N, pale where its lead over the next may be chance (95 % "
    "interval), grey where it is one of the other variants",
]


def draw_overview(measurements: pd.DataFrame, published: Published) -> Figure:
    """`of_copy` over N, a panel for each gpu, operation, rule of M and dtype that was timed.

    In every panel: the copy, a line at 100 %; torch, rivals and the variants that are the fastest
    most often on the page, with a band from the 0.2 to the 0.8 quantile of their times; all others
    muted; above, who is the fastest at each N. gid of a line: the variant; of the copy: `copy`.
    Published tables have no copy and are not in it; `published` gives their variants' looks.
    """
    with matplotlib.rc_context(shared.THEME):
        every = _panels(measurements, published)
        found = _of_most_sizes(every)
        front = winners.in_front([panel.own for _, panel in found], IN_FRONT)
        all_looks = looks(measurements, published)
        styles = {name: all_looks[name] for name in front}
        key = _key(styles) if found else []
        grid = Grid(len(found), len(key))
        page = Page(
            DOUBLE,
            grid.height,
            "How near each kernel comes to the speed of memory, and which is the fastest",
            _fine_print(measurements, [panel.own for _, panel in found], len(every)),
        )
        for i, (dtype, panel) in enumerate(found):
            axes = page.axes(*grid.place(i), *grid.size)
            _panel(axes, dtype, panel, styles)
            axes.tick_params(labelleft=grid.leftmost(i))
            axes.set_ylabel("of the copy's speed" if grid.leftmost(i) else "")
            axes.set_xlabel("N (columns)" if grid.lowest(i) else "")
        if not found:
            caption.nothing_timed(page, measurements)
        x, y, columns = grid.key
        place = {"loc": "upper left", "bbox_to_anchor": page.at(x, y), "borderaxespad": 0}
        page.figure.legend(handles=key, ncols=columns, frameon=False, labelspacing=0.25, **place)
        return page.figure


def _panels(measurements: pd.DataFrame, published: Published) -> list[tuple[str, Panel]]:
    """dtype and panel of everything with a fraction of the copy, in the order of the page."""
    found = []
    for gpu, dtype, sweep in existing(measurements, published):
        selection = select(measurements, published, gpu, dtype, sweep)
        for panel in every_panel(selection, only_timed=True):
            rows = panel.own[panel.own["of_copy"].notna()]
            if len(rows):
                found.append((dtype, Panel(panel.title, rows, panel.published)))
    return sorted(found, key=lambda one: _order(*one))


def _of_most_sizes(panels: list[tuple[str, Panel]]) -> list[tuple[str, Panel]]:
    """At most MOST of the panels, in their order: those that tell the most."""
    by_sizes = sorted(range(len(panels)), key=lambda i: -panels[i][1].own["N"].nunique())
    return [panels[i] for i in sorted(by_sizes[:MOST])]


def _order(dtype: str, panel: Panel) -> tuple:
    rows = panel.own
    op = rows["op"].iloc[0]
    return (rows["gpu"].iloc[0], len(op), op, rows["M"].min(), panel.title, DTYPES.index(dtype))


def _panel(axes: Axes, dtype: str, panel: Panel, styles: dict[str, Style]) -> None:
    rows = panel.own
    sizes = sorted(rows["N"].unique().tolist())
    width = axes.get_window_extent().width / axes.figure.dpi
    shared.label_n(axes, sizes, int(width / TICK))
    axes.axhline(1, color=lines.ROOFLINE, linestyle=lines.DASHES, lw=0.9, zorder=2.5, gid="copy")
    for name, part in rows.sort_values("N").groupby("variant"):
        if name in styles:
            lines.draw_line(axes, part, "of_copy", styles[name], name, name == BASELINE)
        else:
            muted = {"color": MUTED, "lw": 0.6, "zorder": 1.2}
            axes.plot(part["N"], part["of_copy"], gid=name, **muted)
    axes.set_ylim(0, max(1.06, 1.02 * rows["of_copy"].max()))
    axes.yaxis.set_major_locator(MultipleLocator(0.25))
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.autoscale_view(scaley=False)
    strip.draw_strip(axes, winners.fastest(rows), styles, MUTED)
    title = f"{rows['gpu'].iloc[0]}, {dtype}, {panel.title.replace(', ', chr(10), 1)}"
    axes.set_title(title, loc="left", fontsize=SMALL, linespacing=1.1, pad=13)


def _key(styles: dict[str, Style]) -> list[Line2D]:
    """Handles of the variants in front, of the copy, and of the rest."""
    dashes = {"color": lines.ROOFLINE, "linestyle": lines.DASHES, "lw": 0.9}
    shown = [
        Line2D([], [], color=look.colour, marker=look.marker, markersize=3.5, lw=1, label=name)
        for name, look in sorted(styles.items(), key=lambda one: palette.order(one[0]))
    ]
    rest = Line2D([], [], color=MUTED, lw=0.8, label="all other variants")
    return [*shown, Line2D([], [], **dashes, label="copy (roofline)"), rest]


def _fine_print(measurements: pd.DataFrame, drawn: list[pd.DataFrame], total: int) -> list[str]:
    found = [
        f"{caption.origin(own)}, {caption.versions(own)}"
        for _, own in measurements[measurements["of_copy"].notna()].groupby("gpu")
    ]
    if len(drawn) < total:
        found.append(f"{len(drawn)} of {total} panels are shown, those of the most sizes")
    return [*found, *controls.note(pd.concat(drawn or [measurements])), *HOW]
