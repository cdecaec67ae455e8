"""Three panels over kernel time: spread between processes, ratio to CUPTI, cost of a point."""

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, StrMethodFormatter

from analysis.figures.axes import THEME

from .tools import ARBITER, COLOURS, LABELS

SIZE = (7.2, 8.4)  # inches; about a page's width, so that text is not scaled down
MARKERS = {"torch_softmax": "o", "triton_row": "^"}
LEAST_SPREAD = 0.01  # %; smaller ones, and 0, are drawn here: the axis is logarithmic


def write(points: pd.DataFrame, output: Path) -> None:
    """Draw ``summary.per_point`` and save the picture."""
    output.parent.mkdir(parents=True, exist_ok=True)
    draw(points).savefig(output, dpi=160, bbox_inches="tight")


def draw(points: pd.DataFrame) -> Figure:
    """The figure; a marker per tool and point, a line per tool through the shapes.

    A line's point stands at the geometric mean of both kernels' times and at the median of their
    values. gid of a line: the tool.
    """
    timed = points[points["kernel_us"].notna() & points["time_us"].notna()]
    spread = (100 * timed["between"]).clip(lower=LEAST_SPREAD)
    timed = timed.assign(percent=spread)
    with matplotlib.rc_context(THEME):
        figure = Figure(figsize=SIZE, layout="constrained")
        first, second, third = figure.subplots(3, 1, sharex=True)
        _panel(first, timed, "percent", "spread between processes (%)")
        _panel(second, timed[timed["harness"] != ARBITER], "ratio", "time / kernel time by CUPTI")
        _panel(third, timed, "cost_s", "cost of a point (s)")
        second.axhline(1.0, color=COLOURS[ARBITER], linewidth=1, zorder=1)
        _ticks(second, (0.2, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10))
        _ticks(first, (0.01, 0.1, 1, 10, 100))
        _ticks(third, (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30))
        third.set_xlabel("kernel time by CUPTI (µs)")
        third.xaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
        _titles(first, second, third)
        handles = [_handle(tool) for tool in LABELS if tool in set(timed["harness"])]
        handles += [_handle(None, kernel) for kernel in MARKERS]
        figure.legend(
            handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=8
        )
        return figure


def _panel(axes: Axes, timed: pd.DataFrame, value: str, label: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylabel(label, fontsize=8.5)
    for tool in LABELS:
        part = timed[(timed["harness"] == tool) & timed[value].notna()]
        if part.empty:
            continue
        for kernel, marker in MARKERS.items():
            some = part[part["variant"] == kernel]
            look = {"s": 14, "marker": marker, "alpha": 0.45, "linewidths": 0}
            axes.scatter(some["kernel_us"], some[value], color=COLOURS[tool], zorder=2, **look)
        shapes = part.groupby(["M", "N"])
        x = np.exp(np.log(part["kernel_us"]).groupby([part["M"], part["N"]]).mean())
        line = pd.DataFrame({"x": x, "y": shapes[value].median()}).sort_values("x")
        width = 2.2 if tool == "ours" else 1.3
        axes.plot(line["x"], line["y"], color=COLOURS[tool], linewidth=width, zorder=3, gid=tool)


def _ticks(axes: Axes, places: tuple[float, ...]) -> None:
    """Plain numbers at those places that the data reach, and no others."""
    low, high = axes.get_ylim()
    shown = [place for place in places if low <= place <= high]
    axes.yaxis.set_major_locator(FixedLocator(shown))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _titles(*panels: Axes) -> None:
    words = (
        "(a) how far fresh processes lie apart: (max - min) / median",
        f"(b) how far the tool's time lies from the kernel's; {LABELS[ARBITER]} = 1",
        "(c) cost of a point; nvbench is capped at 1 s, this project includes inputs and gate",
    )
    for axes, text in zip(panels, words, strict=True):
        axes.set_title(text, loc="left", fontsize=9)


def _handle(tool: str | None, kernel: str | None = None) -> Line2D:
    if tool:
        width = 2.2 if tool == "ours" else 1.3
        return Line2D([], [], color=COLOURS[tool], linewidth=width, label=LABELS[tool])
    look = {"marker": MARKERS[kernel], "linestyle": "none", "markersize": 4, "alpha": 0.6}
    return Line2D([], [], color="0.3", label=f"{kernel} (markers)", **look)
