"""`python -m studies.side_by_side measure | table | draw`: benchmarking tools beside each other.

To measure, every tool runs in fresh processes, in turn. The table and the figure give the spread
between processes, the ratio to CUPTI and the cost of each tool.
"""

import argparse
import multiprocessing
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from analysis import palette
from analysis.markdown import table

from .tools import RESULTS, TOOLS, Point

DATA, OUTPUT = Path("studies/data/h200/side_by_side.csv"), Path("results/side_by_side")
VARIANTS = ("torch_softmax", "triton_row")
# (M, N), for kernels of about 3 µs to 3 ms on an H200, where a copy moves 4.1 TB/s: each takes
# about 1.6 times as long as the one before. Elements of the largest still fit 32-bit indices.
SHAPES = (
    *((1024, 256), (1024, 1024), (1536, 2048), (1280, 4096), (1024, 8192)),
    *((65536, 256), (32768, 1024), (24576, 2048), (20480, 4096), (16384, 8192)),
    *((819200, 256), (327680, 1024), (262144, 2048), (229376, 4096), (196608, 8192)),
)
POINTS = [Point(variant, M, N) for M, N in SHAPES for variant in VARIANTS]
TIMEOUT_S = 600.0  # of one process of a tool: several times what the slowest needs
MIN_SAMPLES = 5  # for quantiles

REFERENCE = "cupti"
COLOURS = {  # of each tool by its full name; the reference last
    "softmax-bench (this project)": palette.VERMILION,
    "triton do_bench": palette.BLUE,
    "triton do_bench_cudagraph": palette.SKY,
    "torch blocked_autorange": palette.ORANGE,
    "nvbench (cuda-bench)": palette.GREEN,
    "CUPTI (torch.profiler)": palette.BLACK,
}
SHORT = "ours", "do_bench", "do_bench_cudagraph", "blocked_autorange", "cuda_bench", REFERENCE
LABELS = dict(zip(SHORT, COLOURS, strict=True))
POINT = list(Point._fields)
# time_us: median; low and high: 0.2 and 0.8 quantiles; cost_s: seconds without making the input.
COLUMNS = ["harness", "process", *POINT, *RESULTS, "error"]
BANDS = {"below 10 µs": (0, 10), "10 to 100 µs": (10, 100), "above 100 µs": (100, np.inf)}
HEADS = ("tool", "between processes, median", "worst", "within a process",
         "time / CUPTI, median", "from … to", "s per point", "failed")  # fmt: skip
PANELS = ("spread between processes (%)", "time / time by CUPTI", "cost of a point (s)")


def measure(output: Path, processes: int, tools: list[str]) -> None:
    """Time the points in `processes` fresh processes of each tool, and write one table.

    Tools take turns, so that a drift of the machine hits all alike. Parts that exist are kept: an
    interrupted study resumes. Raises RuntimeError for a process that fails.
    """
    parts = output / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    for number in range(processes):
        for tool in tools:
            part = parts / f"{tool}-{number}.csv"
            if part.exists():
                continue
            print(f"{tool}, process {number + 1} of {processes}", flush=True)
            child = multiprocessing.get_context("spawn").Process(
                target=run_process, args=(tool, POINTS, part)
            )
            child.start()
            child.join(TIMEOUT_S)
            child.kill()
            child.join()
            if child.exitcode != 0:
                raise RuntimeError(f"a process of {tool} ended with code {child.exitcode}")
    lines = [
        pd.read_csv(part).assign(harness=tool, process=int(number))
        for part in sorted(parts.glob("*.csv"))
        for tool, number in [part.stem.rsplit("-", 1)]
    ]
    pd.concat(lines)[COLUMNS].to_csv(output / "side_by_side.csv", index=False)


def run_process(tool: str, points: list[Point], output: Path) -> None:
    """Time points in this process. Raises RuntimeError if none could be timed."""
    results = TOOLS[tool](points)
    for result in results:
        if samples := result.pop("samples", None):
            result |= {"time_us": np.median(samples), "n_samples": len(samples)}
            if len(samples) >= MIN_SAMPLES:
                result["low"], result["high"] = np.quantile(samples, (0.2, 0.8))
    lines = pd.DataFrame(points).join(pd.DataFrame(results, columns=[*RESULTS, "error"]))
    if lines["time_us"].isna().all():
        raise RuntimeError(f"{tool} timed no point: {lines['error'].iloc[0]}")
    partial = output.with_suffix(".partial")
    lines.to_csv(partial, index=False, float_format="%.6g")
    partial.replace(output)


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
    points = groups[["time_us", "within", "cost_s"]].median()
    times = groups["time_us"]
    between = (times.max() - times.min()) / times.median()
    points["between"] = between.where(times.count() > 1)
    points["failed"], points["processes"] = groups["failed"].sum(), groups["process"].nunique()
    points = points.reset_index()
    kernel = points[points["harness"] == REFERENCE].set_index(POINT)["time_us"].rename("kernel_us")
    points = points.join(kernel, on=POINT)
    return points.assign(ratio=points["time_us"] / points["kernel_us"])


def markdown(lines: pd.DataFrame) -> str:
    """Return a table per band of kernel time; points that CUPTI did not time are named."""
    points, parts = per_point(lines), []
    for name, (low, high) in BANDS.items():
        band = points[(points["kernel_us"] >= low) & (points["kernel_us"] < high)]
        if not band.empty:
            count = len(band[POINT].drop_duplicates())
            by_tool = dict(iter(band.groupby("harness")))
            rows = [_cells(tool, by_tool[tool]) for tool in LABELS if tool in by_tool]
            parts.append(f"**Kernels {name}** ({count} points)\n\n{table(HEADS, rows, name)}")
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
        *("" if np.isnan(share) else f"{100 * share:.2f} %" for share in percents),
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
    spread = (100 * points["between"]).clip(lower=0.01)  # a logarithmic axis has no 0
    values = dict(zip(PANELS, (spread, points["ratio"], points["cost_s"]), strict=True))
    points = points.assign(tool=points["harness"].map(LABELS), **values)
    lines = points.melt(["tool", "variant", "kernel_us"], PANELS, "panel").dropna()
    grid = sns.relplot(
        lines, x="kernel_us", y="value", row="panel", hue="tool", style="variant", kind="line",
        hue_order=list(COLOURS), palette=COLOURS, markers=True, markeredgewidth=0,
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


def main(argv: list[str] | None = None) -> int:
    """Return exit code 0, or 2 for a command that cannot be carried out.

    `measure` keeps the parts that are in the folder, and `draw` writes its picture there.
    """
    parser = argparse.ArgumentParser(prog="python -m studies.side_by_side", description=__doc__)
    parser.add_argument("command", choices=("measure", "table", "draw"))
    parser.add_argument("--data", type=Path, default=DATA, help="table (default %(default)s)")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder (default %(default)s)")
    parser.add_argument("--processes", type=int, default=5, help="per tool (default %(default)s)")
    parser.add_argument("--only", nargs="+", choices=TOOLS, default=list(TOOLS), help="tools")
    given = parser.parse_args(argv)
    try:
        if given.command == "measure":
            measure(given.output, given.processes, given.only)
        elif given.command == "table":
            print(markdown(load(given.data)))
        else:
            draw(per_point(load(given.data)), given.output / "side_by_side.png")
    except (OSError, ValueError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
