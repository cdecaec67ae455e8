"""Summarise the table of measured points per tool and point: spread, ratio to CUPTI, cost."""

from pathlib import Path

import numpy as np
import pandas as pd

from analysis import palette
from analysis.markdown import table

from .tools import RESULTS

LABELS = {  # the reference last
    "ours": "softmax-bench (this project)",
    "do_bench": "triton do_bench",
    "do_bench_cudagraph": "triton do_bench_cudagraph",
    "blocked_autorange": "torch blocked_autorange",
    "cuda_bench": "nvbench (cuda-bench)",
    "cupti": "CUPTI (torch.profiler)",
}
COLOURS = (
    *(palette.VERMILION, palette.BLUE, palette.SKY),
    *(palette.ORANGE, palette.GREEN, palette.BLACK),
)
REFERENCE = "cupti"
POINT = ["variant", "M", "N"]
# time_us: median; low and high: 0.2 and 0.8 quantiles; cost_s: seconds without making the input.
COLUMNS = ["harness", "process", *POINT, *RESULTS, "error"]
BANDS = {"below 10 µs": (0, 10), "10 to 100 µs": (10, 100), "above 100 µs": (100, np.inf)}
HEADS = ("tool", "between processes, median", "worst", "within a process",
         "time / CUPTI, median", "from … to", "s per point", "failed")  # fmt: skip

PANELS = ("spread between processes (%)", "time / time by CUPTI", "cost of a point (s)")


def load(data: Path) -> pd.DataFrame:
    """Return the table; numbers are NaN where empty. Raises ValueError if a column is missing."""
    lines = pd.read_csv(data, usecols=COLUMNS, dtype={"error": "str"})
    return lines.fillna({"error": ""})


def per_point(lines: pd.DataFrame) -> pd.DataFrame:
    """Return one line per tool and point, with medians over processes.

    `between`: (max - min) / median of the processes; `within`: (high - low) / time;
    `kernel_us`: the reference's time of the point; `ratio`: time_us / kernel_us.
    """
    within = (lines["high"] - lines["low"]) / lines["time_us"]
    groups = lines.assign(within=within, failed=lines["error"] != "").groupby(["harness", *POINT])
    points = groups.agg(
        time_us=("time_us", "median"),
        between=("time_us", _spread),
        within=("within", "median"),
        cost_s=("cost_s", "median"),
        failed=("failed", "sum"),
        processes=("process", "nunique"),
    ).reset_index()
    kernel = points[points["harness"] == REFERENCE].set_index(POINT)["time_us"].rename("kernel_us")
    points = points.join(kernel, on=POINT)
    return points.assign(ratio=points["time_us"] / points["kernel_us"])


def _spread(times: pd.Series) -> float:
    return (times.max() - times.min()) / times.median() if times.count() > 1 else np.nan


def markdown(lines: pd.DataFrame) -> str:
    """Return a table per band of kernel time; points that CUPTI did not time are named."""
    points, parts = per_point(lines), []
    for name, (low, high) in BANDS.items():
        band = points[(points["kernel_us"] >= low) & (points["kernel_us"] < high)]
        if not band.empty:
            count = len(band[POINT].drop_duplicates())
            by_tool = dict(iter(band.groupby("harness")))
            rows = [_cells(tool, by_tool[tool]) for tool in LABELS if tool in by_tool]
            text = table(HEADS, rows, name)
            parts.append(f"**Kernels {name}** ({count} points)\n\n{text}")
    unknown = points[points["kernel_us"].isna()].drop_duplicates(POINT)
    if len(unknown):
        names = ", ".join(f"{p.variant} {p.M}x{p.N}" for p in unknown.itertuples())
        parts.append(f"Not timed by CUPTI, so in no band: {names}.")
    return "\n\n".join(parts)


def _cells(tool: str, part: pd.DataFrame) -> list[str]:
    between, ratio = part["between"], part["ratio"]
    percents = (between.median(), between.max(), part["within"].median())
    return [
        LABELS[tool],
        *("" if np.isnan(share) else f"{share:.2%}".replace("%", " %") for share in percents),
        f"{ratio.median():.3f}",
        f"{ratio.min():.3f} … {ratio.max():.3f}",
        f"{part['cost_s'].median():.2f}",
        f"{part['failed'].sum()} of {part['processes'].sum()}",
    ]


def draw(points: pd.DataFrame, output: Path) -> None:
    """Draw spread, ratio to CUPTI and cost over kernel time: a line per tool and kernel."""
    import matplotlib

    matplotlib.use("Agg")
    import seaborn as sns

    sns.set_theme(style="whitegrid", context="paper")
    points = points.assign(
        spread=(100 * points["between"]).clip(lower=0.01),  # a logarithmic axis has no 0
        tool=points["harness"].map(LABELS),
    ).rename(columns={"spread": PANELS[0], "ratio": PANELS[1], "cost_s": PANELS[2]})
    lines = points.melt(["tool", "variant", "kernel_us"], PANELS, "panel").dropna()
    grid = sns.relplot(
        lines, x="kernel_us", y="value", row="panel", hue="tool", style="variant", kind="line",
        hue_order=list(LABELS.values()), palette=list(COLOURS), markers=True, markeredgewidth=0,
        height=3, aspect=2.4, facet_kws={"sharey": False},
    )  # fmt: skip
    grid.set(xscale="log", yscale="log", xlabel="kernel time by CUPTI (µs)", ylabel="")
    grid.set_titles("{row_name}")
    grid.axes[1, 0].set_yticks((0.7, 1, 1.5, 2, 3, 5))
    for axis in grid.axes.flat:
        axis.xaxis.set_major_formatter("{x:,g}")
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter("")
    output.parent.mkdir(parents=True, exist_ok=True)
    grid.savefig(output, dpi=130)
