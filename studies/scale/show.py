"""The growth of every stage as a table and as a figure."""

from pathlib import Path

import pandas as pd

from analysis import palette

TOGETHER = "merge to report"
PARTS = ("merge", "collect", "summary", "claims", "figures", "report")
ORDER = ["dry run", "run", "run in batches", "dry run, all done", TOGETHER, *PARTS]
# Colour, marker, its size and the line's width (points). Some stages take the same memory, so that
# their lines lie on each other: of such a pair the one drawn first is wider, and both are seen.
STYLES = {
    "dry run": (palette.SKY, "o", 6, 2.6),
    "run": (palette.BLACK, "s", 4.5, 1.4),
    "run in batches": (palette.GREY, "s", 3.5, 1.4),
    "dry run, all done": (palette.BLUE, "o", 3.2, 1.0),
    TOGETHER: (palette.ORANGE, "D", 5, 2.6),
    "merge": (palette.GREEN, "v", 5, 1.8),
    "collect": (palette.WINE, "^", 3.5, 0.8),
    "summary": (palette.PURPLE, "s", 4.5, 1.8),
    "claims": (palette.INDIGO, "P", 3.5, 0.8),
    "figures": (palette.VERMILION, "d", 4, 0.8),
    "report": (palette.OLIVE, "X", 4, 0.8),
}


def load(path: Path) -> pd.DataFrame:
    """Median over the repeats, by stage and points: wall_s, cpu_s, peak_mb.

    With a stage more, TOGETHER: sum of the seconds of PARTS, largest of their memories.
    """
    data = pd.read_csv(path)
    parts = data[data["stage"].isin(PARTS)].groupby(["points", "repeat"], as_index=False)
    together = parts.agg(
        wall_s=("wall_s", "sum"), cpu_s=("cpu_s", "sum"), peak_mb=("peak_mb", "max")
    )
    data = pd.concat([data, together.assign(stage=TOGETHER)])
    found = data.groupby(["stage", "points"])[["wall_s", "cpu_s", "peak_mb"]].median()
    return found.reset_index()


def table(found: pd.DataFrame) -> str:
    """Seconds and MB by stage and points, and the seconds of a point at the two largest sizes."""
    sizes = sorted(found["points"].unique())
    lines = [
        "| stage | " + " | ".join(f"{size:,} points" for size in sizes) + " | ms per point added |",
        "|---|" + "---|" * len(sizes) + "---|",
    ]
    for stage in (stage for stage in ORDER if stage in set(found["stage"])):
        rows = found[found["stage"] == stage].set_index("points")
        cells = [_cell(rows.loc[size]) if size in rows.index else "" for size in sizes]
        lines.append(f"| {stage} | " + " | ".join(cells) + f" | {_added(rows['wall_s'])} |")
    return "\n".join(lines)


def _cell(row: pd.Series) -> str:
    seconds = row["wall_s"]
    return f"{seconds:.{1 if seconds < 20 else 0}f} s, {row['peak_mb']:,.0f} MB"


def _added(seconds: pd.Series) -> str:
    """What each further point costs from one size to the next; the same where growth is linear."""
    steps = seconds.sort_index()
    each = (1000 * steps.diff() / steps.index.to_series().diff()).dropna()
    return ", ".join(f"{value:.2g}" for value in each)


def draw(found: pd.DataFrame, output: Path) -> None:
    """Seconds and MB over points; a dotted line grows as the points do."""
    import matplotlib
    from matplotlib.figure import Figure

    from analysis.figures.axes import THEME
    from analysis.figures.page import DOUBLE

    with matplotlib.rc_context(THEME):
        figure = Figure((DOUBLE, 3.2), layout="constrained")
        axes = figure.subplots(1, 2)
        for axis, value, label in zip(
            axes, ("wall_s", "peak_mb"), ("wall time (s)", "peak memory (MB)"), strict=True
        ):
            _panel(axis, found, value)
            axis.set_ylabel(label)
        sizes = sorted(found["points"].unique())
        times = [size / 1000 for size in sizes]
        axes[0].plot(sizes, times, color="0.4", ls=":", lw=1, label="1 ms a point")
        names = axes[0].get_legend_handles_labels()
        figure.legend(*names, loc="outside right upper", frameon=False)
        output.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(output, dpi=200)


def _panel(axis, found: pd.DataFrame, value: str) -> None:
    from matplotlib.ticker import NullLocator, StrMethodFormatter

    sizes = sorted(found["points"].unique())
    for stage in (stage for stage in ORDER if stage in set(found["stage"])):
        rows = found[found["stage"] == stage]
        colour, marker, size, width = STYLES[stage]
        look = {"color": colour, "marker": marker, "ms": size, "mew": 0, "lw": width}
        axis.plot(rows["points"], rows[value], label=stage, **look)
    axis.set(xscale="log", yscale="log", xlabel="points")
    axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
