"""Draw the figures of the frozen studies `side_by_side` and `aa_bias` from their rows.

`python -m tools.figures copy` puts them into the documents.
"""

from pathlib import Path

import pandas as pd
import seaborn as sns
import yaml
from matplotlib.figure import Figure

from analysis import palette
from analysis.figures import style
from analysis.markdown import percent
from measure import ROOT

DATA = ROOT / "studies/data/h200"
TOOLS = {
    "ours": "softmax-bench",
    "cupti": "CUPTI (torch.profiler)",
    "cuda_bench": "nvbench (cuda-bench)",
    "do_bench_cudagraph": "triton do_bench_cudagraph",
    "do_bench": "triton do_bench",
    "blocked_autorange": "torch blocked_autorange",
}
OURS, REFERENCE = TOOLS["ours"], TOOLS["cupti"]
POINT = ["variant", "M", "N"]
LENGTHS = {"below 10 µs": 10, "10 to 100 µs": 100, "above 100 µs": float("inf")}
COLOURS = dict(zip(LENGTHS, (palette.VERMILION, palette.BLUE, palette.GREY), strict=True))
SPREAD, RATIO = "spread between processes (%)", "time over that of CUPTI"
COST = "cost of a point (s)"
FIRST_STEP, LAST_STEP = "one rotation a graph", "+ 8 graphs in turn"
STRIP = {"kind": "strip", "size": 4, "alpha": 0.6, "jitter": False, "legend": False}


def load_tools(path: Path) -> pd.DataFrame:
    """Return a line per tool and point: SPREAD, RATIO, COST, and the `length` of the kernel.

    Times are medians of five processes; the spread is (max - min) / median.
    """
    rows = pd.read_csv(path)
    groups = rows.assign(tool=rows["harness"].map(TOOLS)).groupby(["tool", *POINT])
    times, cost = groups["time_us"], groups["cost_s"].median()
    median = times.median()
    spread = 100 * (times.max() - times.min()) / median
    points = pd.DataFrame({"us": median, SPREAD: spread, COST: cost}).reset_index()
    kernel = points[points["tool"] == REFERENCE].set_index(POINT)["us"].rename("kernel_us")
    points = points.join(kernel, on=POINT)
    points["length"] = pd.cut(points["kernel_us"], [0, *LENGTHS.values()], labels=[*LENGTHS])
    return points.assign(**{RATIO: points["us"] / points["kernel_us"]})


def tools_finding(points: pd.DataFrame) -> str:
    """Say which tool is the steadiest for short kernels, and how far this project is off CUPTI."""
    short = points[points["length"] == next(iter(LENGTHS))]
    spreads = short.groupby("tool")[SPREAD].median().sort_values()
    first, second = spreads.index[:2]
    highest = short.loc[short["tool"] == OURS, RATIO].max() - 1
    return (
        f"Below 10 µs, {first} is the steadiest: its times spread by {spreads.iloc[0]:.2f} %, "
        f"those of {second} by {spreads.iloc[1]:.2f} %; {OURS} is up to {percent(highest)} "
        "above CUPTI"
    )


def draw_tools(points: pd.DataFrame, facts: str) -> Figure:
    """Draw the spread, the ratio to CUPTI and the cost of each tool, a dot for each point."""
    long = points.melt(["tool", "length"], [SPREAD, RATIO, COST], "panel")
    long = long[(long["panel"] != RATIO) | (long["tool"] != REFERENCE)]
    order = {"order": [*TOOLS.values()], "hue_order": [*LENGTHS], "palette": COLOURS}
    panels = {"col": "panel", "sharex": False, "dodge": True}
    grid = sns.catplot(long, y="tool", x="value", hue="length", **panels, **order, **STRIP)
    for name, axes in grid.axes_dict.items():
        axes.set(title="", xlabel=name, ylabel="", xscale="log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter("")
        for line in range(len(TOOLS) - 1):
            axes.axhline(line + 0.5, color="0.9", lw=0.6)
    grid.axes_dict[RATIO].set_xticks([0.7, 1, 1.5, 2, 3, 5])
    grid.axes_dict[RATIO].axvline(1, color="0.25", lw=1)
    about = (
        "A dot is a point. The upper, red dots of a tool are kernels below 10 µs, the blue ones "
        "10 to 100 µs, the grey ones above"
    )
    finding = tools_finding(points)
    return style.finish(grid.figure, 3.3, finding, about, facts, (1.65, 0.1), (0.2, 0), above=0.1)


def draw_bias(rows: pd.DataFrame) -> Figure:
    """Draw how far torch is off itself after each step of the study, a dot for each process."""
    rows = rows.assign(off=100 * (rows["aa_ratio"] - 1))
    us = rows.groupby("N")["time_us"].transform("median")
    rows["panel"] = "1024x" + rows["N"].astype("str") + ", " + us.map("{:.1f} µs".format)
    worst = rows["off"].abs().groupby(rows["step"]).max()
    grid = sns.catplot(rows, y="step", x="off", col="panel", color=palette.BLUE, **STRIP)
    grid.refline(x=0, color="0.25", linestyle="-", linewidth=1)
    grid.set_titles("{col_name}")
    grid.set_axis_labels("off 1 (%)", "")
    finding = (
        f"Torch against itself was off by up to {worst[FIRST_STEP]:.2f} %, "
        f"and three extra steps cut that to {worst[LAST_STEP]:.2f} %"
    )
    about = "Ratio of torch to a second series of torch in the same process; a dot is a process"
    facts = "H200 · softmax · float32 · 2026-11-21 · five processes of each step, 40 blocks each"
    return style.finish(grid.figure, 2.3, finding, about, facts, (1.95, 0.1), (0.15, 0))


def draw() -> dict[str, Figure]:
    """Return the figures by their names."""
    with Path(DATA, "side_by_side.yaml").open(encoding="utf-8") as file:
        provenance = yaml.safe_load(file)
    versions = " · ".join(f"{name} {provenance['versions'][name]}" for name in ("torch", "triton"))
    days = sorted({provenance["measured"][:10], provenance["later"]["measured"][:10]})
    gpu = style.short_name(provenance["gpu_name"])
    facts = f"{gpu} · {versions} · driver {provenance['driver']} · {' and '.join(days)}"
    return {
        "side_by_side": draw_tools(load_tools(DATA / "side_by_side.csv"), facts),
        "aa_bias": draw_bias(pd.read_csv(DATA / "aa_bias.csv")),
    }
