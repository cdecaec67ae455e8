"""The changes between two runs as a figure: every timed point with its interval, worst first."""

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis import compare, palette, rows
from analysis.figures.axes import THEME
from analysis.figures.write import save

# Styles differ in colour, and in shape for the colour-blind.
STYLES = {
    compare.SLOWER: palette.Style(palette.VERMILION, "v"),
    compare.UNCLEAR: palette.Style(palette.ORANGE, "D"),
    compare.SAME: palette.Style(palette.GREY, "o"),
    compare.FASTER: palette.Style(palette.BLUE, "^"),
}
MAX_NAMES = 40  # more names under the axis would overlap at this width


def write(text: str, changes: pd.DataFrame, limits: compare.Limits, folder: Path) -> None:
    """Write compare.md and the figure to `folder`; the same bytes for the same rows."""
    rows.write(Path(folder) / "compare.md", f"{text}\n![Every point](compare.png)\n")
    save(draw(changes, limits), Path(folder) / "compare")


def draw(changes: pd.DataFrame, limits: compare.Limits) -> Figure:
    """Draw the change of speed in per cent, with its 95 % interval, from the worst point on."""
    with matplotlib.rc_context(THEME):
        figure = Figure(figsize=(9, 4.6), layout="constrained")
        axes = figure.add_subplot(ylabel="change of speed (%), 95 % interval")
        figure.suptitle(f"NEW against OLD: {compare.counts(changes)}", fontweight="bold")
        drawn = changes.dropna(subset="ratio").sort_values("ratio", kind="stable")
        off, place = 100 * (drawn[["ratio", "low", "high"]] - 1), np.arange(len(drawn))
        margin = 100 * limits.margin
        axes.axhspan(-margin, margin, color="0.93", zorder=0)
        threshold = -100 * (1 - 1 / (1 + limits.threshold))
        axes.axhline(threshold, color=palette.VERMILION, linewidth=0.8, linestyle="--")
        for name, style in STYLES.items():
            part = (drawn["change"] == name).to_numpy()
            value, low, high = off[part].to_numpy().T
            axes.errorbar(
                *(place[part], value, [value - low, high - value]),
                **{"fmt": style.marker, "color": style.colour, "markersize": 4, "linewidth": 1.2},
                label=f"{name} ({part.sum()})",
            )
        axes.legend(loc="upper left", frameon=False)
        # On a linear axis one extreme point would flatten all others.
        axes.set_yscale("symlog", linthresh=2 * margin)
        if len(drawn) <= MAX_NAMES:
            names = [f"{point[-1]} {point[-3]}x{point[-2]}" for point in drawn.index]
            axes.set_xticks(place, names, rotation=90)
        return figure
