"""One page of all sets: the fraction of the copy bandwidth over N, and the fastest variant."""

import math
from dataclasses import dataclass
from itertools import groupby, pairwise

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator, PercentFormatter

from analysis import palette, ranking, schema
from analysis.figures import axes as shared
from analysis.figures import lines
from analysis.figures.controls import controls_note
from analysis.figures.layout import DOUBLE, FINE, SMALL, Page, origin, text_width, versions
from analysis.frame import legend
from analysis.palette import Style
from analysis.panels import Panel, every_panel, existing, select
from analysis.panels import styles as styles_of
from analysis.published import Published
from analysis.schema import BASELINE

MAX_PANELS = 15
TICK = 0.29  # inches for a tick of N
HIGHLIGHTED = 6  # variants besides torch
MUTED = "0.75"
DTYPES = list(schema.ITEMSIZE)  # in the order of the page
HOW = [
    "dashed: a copy of the same bytes, timed in the same process; lines: the copy's time over the "
    "variant's; bands: the same by the 0.2 and the 0.8 quantile of its times",
    "strips: the fastest at each N, pale where others are not significantly slower, grey where it "
    "is one of the other variants, empty where only one competes",
]

# Inches: left of the panels, above a panel (title and strip), between two, below a panel (sizes),
# and the height of a line of the key.
LEFT, ABOVE, BETWEEN, BELOW, KEY = 0.55, 0.46, 0.16, 0.36, 0.14
HIGHEST, PAGE = 1.2, 8.6  # inches: the largest heights of a panel and of all panels
ACROSS = 3  # panels
KEYS = 4  # columns of the key below the panels

# Inches of a strip: between the axes and the strip, and its height.
STRIP_GAP, STRIP_HEIGHT = 0.03, 0.11
HALF = 2**0.5  # factor in N by which a box extends beyond the first and the last size
PALE = 0.6  # share of white in the colour of a variant that shares the best set


@dataclass(frozen=True)
class Grid:
    """The places of `panels` panels, and of a key with `keys` entries, in inches."""

    panels: int
    keys: int

    @property
    def size(self) -> tuple[float, float]:
        """Return width and height of one panel."""
        height = PAGE / self._rows - ABOVE - BELOW
        return (DOUBLE - LEFT) / ACROSS - BETWEEN, min(HIGHEST, height)

    def place(self, i: int) -> tuple[float, float]:
        """Return the upper left corner of panel `i`."""
        width, height = self.size
        x, y = i % ACROSS * (width + BETWEEN), i // ACROSS * (ABOVE + height + BELOW)
        return LEFT + x, ABOVE + y

    @property
    def key(self) -> tuple[float, float, int]:
        """Return corner (upper left) and columns of the key: beside the last panel, else below."""
        if free := -self.panels % ACROSS:
            return *self.place(self.panels), free
        return LEFT, self._bottom + 0.15, KEYS

    @property
    def height(self) -> float:
        """Return the height of everything."""
        _, top, columns = self.key
        return max(self._bottom, top + math.ceil(self.keys / columns) * KEY) + 0.1

    @property
    def _rows(self) -> int:
        return max(1, math.ceil(self.panels / ACROSS))

    @property
    def _bottom(self) -> float:
        return self._rows * (ABOVE + self.size[1] + BELOW)


def draw_overview(measurements: pd.DataFrame, published: Published) -> Figure:
    """Draw `of_copy` over N, a panel for each gpu, operation, rule of M and dtype.

    A panel has the copy as a line at 100 %, torch and the variants that win most often with bands,
    all others muted, and above them the winner at each N. The gid of a line is its variant, that of
    the copy `copy`. Published tables have no copy; their variants count for the styles only.
    """
    with matplotlib.rc_context(shared.THEME):
        every = _panels(measurements, published)
        shown = _of_most_sizes(every)
        front = ranking.highlighted([panel.own for _, panel in shown], HIGHLIGHTED)
        all_styles = styles_of(measurements, published)
        styles = {name: all_styles[name] for name in front}
        key = _key(styles) if shown else []
        grid = Grid(len(shown), len(key))
        page = Page(
            DOUBLE,
            grid.height,
            "How near each kernel comes to the speed of memory, and which is the fastest",
            _fine_print(measurements, [panel.own for _, panel in shown], len(every)),
        )
        for i, (dtype, panel) in enumerate(shown):
            axes = page.axes(*grid.place(i), *grid.size)
            _panel(axes, dtype, panel, styles)
            leftmost, lowest = i % ACROSS == 0, i + ACROSS >= len(shown)
            axes.tick_params(labelleft=leftmost)
            axes.set_ylabel("of the copy's speed" if leftmost else "")
            axes.set_xlabel("N (columns)" if lowest else "")
        if not shown:
            page.nothing_timed(measurements)
        x, y, columns = grid.key
        place = {"loc": "upper left", "bbox_to_anchor": page.at(x, y), "borderaxespad": 0}
        page.figure.legend(handles=key, ncols=columns, frameon=False, labelspacing=0.25, **place)
        return page.figure


def _panels(measurements: pd.DataFrame, published: Published) -> list[tuple[str, Panel]]:
    """Return (dtype, panel) of all rows with a fraction of the copy, in the order of the page."""
    drawn = []
    for gpu, dtype, sweep in existing(measurements, published):
        selection = select(measurements, published, gpu, dtype, sweep)
        for panel in every_panel(selection, only_timed=True):
            rows = panel.own[panel.own["of_copy"].notna()]
            if len(rows):
                drawn.append((dtype, Panel(panel.title, rows, panel.published)))
    return sorted(drawn, key=lambda one: _order(*one))


def _of_most_sizes(panels: list[tuple[str, Panel]]) -> list[tuple[str, Panel]]:
    """Return the MAX_PANELS panels with the most sizes, in their order."""
    by_sizes = sorted(range(len(panels)), key=lambda i: -panels[i][1].own["N"].nunique())
    return [panels[i] for i in sorted(by_sizes[:MAX_PANELS])]


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
    _winner_strip(axes, ranking.best_sets(rows), styles)
    title = f"{rows['gpu'].iloc[0]}, {dtype}, {panel.title.replace(', ', chr(10), 1)}"
    axes.set_title(title, loc="left", fontsize=SMALL, linespacing=1.1, pad=13)


def _winner_strip(axes: Axes, best_sets: dict[int, list[str]], styles: dict[str, Style]) -> None:
    """Draw above the axes a box for each run of sizes with one fastest variant.

    A box is pale where the variant shares the best set, and absent where the best set is empty. A
    variant that is not in `styles` has a box in MUTED without a name. The marker replaces a name
    that does not fit. Call it when the limits and the position of the axes are final. The gid of a
    box is `fastest {variant}`.
    """
    sizes = sorted(best_sets)
    borders = [math.sqrt(a * b) for a, b in pairwise(sizes)]
    low, high = axes.get_xlim()
    edges = [max(sizes[0] / HALF, low), *borders, min(sizes[-1] * HALF, high)]
    inches = axes.get_window_extent().height / axes.figure.dpi
    bottom, top = 1 + STRIP_GAP / inches, 1 + (STRIP_GAP + STRIP_HEIGHT) / inches
    first = {n: (names[0], len(names) == 1) if names else None for n, names in best_sets.items()}
    for winner, run in groupby(range(len(sizes)), key=lambda i: first[sizes[i]]):
        if not winner:
            continue
        (variant, alone), places = winner, list(run)
        left, right = edges[places[0]], edges[places[-1] + 1]
        style = styles.get(variant)
        colour = to_rgb(style.colour if style else MUTED)
        colour = colour if alone else tuple(PALE + (1 - PALE) * part for part in colour)
        box = {"facecolor": colour, "edgecolor": "white", "linewidth": 0.8, "clip_on": False}
        axes.axvspan(left, right, bottom, top, **box, gid=f"fastest {variant}")
        if not style:
            continue
        middle = (math.sqrt(left * right), (bottom + top) / 2)
        ends = [axes.transData.transform((x, 1))[0] for x in (left, right)]
        fits = text_width(variant, FINE) + 0.04 < (ends[1] - ends[0]) / axes.figure.dpi
        label = {"transform": axes.get_xaxis_transform(), "clip_on": False}
        label |= {"color": shared.text_colour(colour)}
        if fits:
            where = {"ha": "center", "va": "center_baseline", "fontsize": FINE}
            axes.text(*middle, variant, **where, **label)
        else:
            marker = {"marker": style.marker, "markersize": 3, "markeredgewidth": 0}
            gid = f"marker {variant}"
            axes.plot(*middle, **marker, linestyle="none", **label, gid=gid)


def _key(styles: dict[str, Style]) -> list[Line2D]:
    """Return the handles of the highlighted variants, of the copy, and of all others."""
    dashes = {"color": lines.ROOFLINE, "linestyle": lines.DASHES, "lw": 0.9}
    shown = [
        Line2D([], [], color=style.colour, marker=style.marker, markersize=3.5, lw=1, label=name)
        for name, style in sorted(styles.items(), key=lambda one: palette.order(one[0]))
    ]
    rest = Line2D([], [], color=MUTED, lw=0.8, label="all other variants")
    return [*shown, Line2D([], [], **dashes, label="copy (roofline)"), rest]


def _fine_print(measurements: pd.DataFrame, drawn: list[pd.DataFrame], total: int) -> list[str]:
    origins = [
        f"{origin(own)}, {versions(own)}"
        for _, own in measurements[measurements["of_copy"].notna()].groupby("gpu")
    ]
    if len(drawn) < total:
        origins.append(f"{len(drawn)} of {total} panels are shown, those of the most sizes")
    rows = pd.concat(drawn or [measurements])
    return [*origins, *controls_note(rows), *legend(rows["flags"]), *HOW]
