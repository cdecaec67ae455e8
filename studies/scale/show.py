"""The growth of every stage as a table and as a figure."""

from pathlib import Path

import pandas as pd

TOGETHER = "merge to report"
PARTS = ("merge", "collect", "summary", "claims", "figures", "report")
ORDER = ["dry run", "run", "run in batches", "dry run, all done", TOGETHER, *PARTS]


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
    import seaborn as sns

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sns.set_theme(style="whitegrid", context="paper")
    shown = [stage for stage in ORDER if stage in set(found["stage"])]
    colours = dict(zip(shown, sns.color_palette("colorblind", len(shown)), strict=True))
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    for axis, value, label in zip(
        axes, ("wall_s", "peak_mb"), ("wall time (s)", "peak memory (MB)"), strict=True
    ):
        for stage in shown:
            rows = found[found["stage"] == stage]
            bold = stage not in PARTS
            axis.plot(
                rows["points"],
                rows[value],
                color=colours[stage],
                marker="o" if bold else ".",
                linewidth=1.8 if bold else 1,
                linestyle="-" if bold else "--",
                label=stage,
            )
        axis.set(xscale="log", yscale="log", xlabel="points", ylabel=label)
    sizes = sorted(found["points"].unique())
    axes[0].plot(sizes, [size / 1000 for size in sizes], color="0.5", ls=":", label="1 ms a point")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", frameon=False)
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150)
    plt.close(figure)
