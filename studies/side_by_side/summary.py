"""Summarise the table of ``measure`` per tool and point: spread, ratio to CUPTI, cost."""

from pathlib import Path

import numpy as np
import pandas as pd

from analysis import palette

LABELS = {  # the reference last
    "ours": "softmax-bench (this project)",
    "do_bench": "triton do_bench",
    "do_bench_cudagraph": "triton do_bench_cudagraph",
    "blocked_autorange": "torch blocked_autorange",
    "cuda_bench": "nvbench (cuda-bench)",
    "cupti": "CUPTI (torch.profiler)",
}
COLOURS = (
    palette.VERMILION,
    palette.BLUE,
    palette.SKY,
    palette.ORANGE,
    palette.GREEN,
    palette.BLACK,
)
REFERENCE = "cupti"
POINT = ["variant", "M", "N"]
# time_us: median; low and high: 0.2 and 0.8 quantiles; cost_s: seconds without making the input.
RESULTS = ["time_us", "low", "high", "n_samples", "cost_s", "error"]
COLUMNS = ["harness", "process", *POINT, *RESULTS]
BANDS = {"below 10 µs": (0, 10), "10 to 100 µs": (10, 100), "above 100 µs": (100, np.inf)}
HEADS = ("tool", "between processes, median", "worst", "within a process",
         "time / CUPTI, median", "from … to", "s per point", "failed")  # fmt: skip

# Column, label and ticks of the panels of the figure. nvbench is capped at 1 s a point.
PANELS = {
    "percent": ("spread between processes (%)", (0.01, 0.1, 1, 10, 100)),
    "ratio": ("time / time by CUPTI", (0.7, 1, 1.5, 2, 3, 5)),
    "cost_s": ("cost of a point (s)", (0.03, 0.1, 0.3, 1, 3, 10)),
}


def load(data: Path) -> pd.DataFrame:
    """Return the table; numbers are NaN where empty. Raises ValueError if a column is missing."""
    lines = pd.read_csv(data, usecols=COLUMNS, dtype={"error": "str"})
    return lines.fillna({"error": ""})


def per_point(lines: pd.DataFrame) -> pd.DataFrame:
    """Return one line per tool and point.

    ``time_us``, ``cost_s``: median over processes; ``between``: (max - min) / median of them, NaN
    for one process; ``within``: (high - low) / time, median; ``kernel_us``: the reference's time
    of the point; ``ratio``: time_us / kernel_us; ``failed``, ``processes``: how many.
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
            rows = [HEADS, ["---"] * len(HEADS)]
            rows += [_cells(tool, band[band["harness"] == tool]) for tool in LABELS]
            text = "\n".join(f"| {' | '.join(cells)} |" for cells in rows if cells)
            parts.append(f"**Kernels {name}** ({count} points)\n\n{text}")
    unknown = points[points["kernel_us"].isna()].drop_duplicates(POINT)
    if len(unknown):
        names = ", ".join(f"{p.variant} {p.M}x{p.N}" for p in unknown.itertuples())
        parts.append(f"Not timed by CUPTI, so in no band: {names}.")
    return "\n\n".join(parts)


def _cells(tool: str, part: pd.DataFrame) -> list[str]:
    if part.empty:
        return []
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
    """Draw spread, ratio to CUPTI and cost over kernel time: a marker per point, a line per tool.

    A line joins, matrix by matrix, the geometric mean of both kernels' times by CUPTI and the
    median of their values.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import seaborn as sns

    sns.set_theme(style="whitegrid", context="paper")
    timed = points.dropna(subset=["kernel_us", "time_us"]).copy()
    timed["percent"] = (100 * timed["between"]).clip(lower=0.01)  # a log axis has no 0
    timed["tool"] = timed["harness"].map(LABELS)
    logs = np.log(timed["kernel_us"]).groupby([timed["M"], timed["N"]])
    timed["matrix_us"] = np.exp(logs.transform("mean"))
    colours = dict(zip(LABELS.values(), COLOURS, strict=True))
    widths = {label: 2.2 if tool == "ours" else 1.2 for tool, label in LABELS.items()}
    order = [label for label in LABELS.values() if label in set(timed["tool"])]
    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(7.2, 8.4), layout="constrained")
    for axis, (column, (ylabel, ticks)) in zip(axes, PANELS.items(), strict=True):
        look = {"data": timed, "y": column, "hue": "tool", "hue_order": order, "palette": colours}
        sns.lineplot(**look, x="matrix_us", size="tool", sizes=widths, estimator="median",
                     errorbar=None, legend=False, ax=axis)  # fmt: skip
        sns.scatterplot(**look, x="kernel_us", style="variant", alpha=0.45, s=16, ax=axis)
        handles, labels = axis.get_legend_handles_labels()
        axis.get_legend().remove()
        axis.set(xscale="log", yscale="log", xlabel="kernel time by CUPTI (µs)", ylabel=ylabel)
        axis.set_yticks(ticks, minor=False)
        axis.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
        for scale in (axis.xaxis, axis.yaxis):
            scale.set_major_formatter("{x:,g}")
    kinds = len(set(timed["variant"]))
    handles, labels = [*axis.lines[: len(order)], *handles[-kinds:]], [*order, *labels[-kinds:]]
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=160)
    plt.close(figure)
