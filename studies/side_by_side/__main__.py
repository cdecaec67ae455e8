"""`python -m studies.side_by_side measure | table | draw`.

To measure, every tool runs in fresh processes, in turn.
"""

import argparse
import multiprocessing
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from . import summary
from .tools import RESULTS, TOOLS, Point

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
    pd.concat(lines)[summary.COLUMNS].to_csv(output / "side_by_side.csv", index=False)


def run_process(tool: str, points: list[Point], output: Path) -> None:
    """Time points in this process. Raises RuntimeError if none could be timed."""
    results = [line_of(**result) for result in TOOLS[tool](points)]
    lines = pd.DataFrame(points).join(pd.DataFrame(results, columns=[*RESULTS, "error"]))
    if lines["time_us"].isna().all():
        raise RuntimeError(f"{tool} timed no point: {lines['error'].iloc[0]}")
    partial = output.with_suffix(".partial")
    lines.to_csv(partial, index=False, float_format="%.6g")
    partial.replace(output)


def line_of(samples: list[float] | None = None, **result) -> dict:
    """Return a result with the median of its samples and their 0.2 and 0.8 quantiles."""
    if samples is not None:
        result |= {"time_us": float(np.median(samples)), "n_samples": len(samples)}
        if len(samples) >= MIN_SAMPLES:
            result["low"], result["high"] = np.quantile(samples, (0.2, 0.8)).tolist()
    return result


def main(argv: list[str] | None = None) -> int:
    """Return exit code 0, or 2 for a command that cannot be carried out."""
    parser = argparse.ArgumentParser(prog="python -m studies.side_by_side", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure", help="time the points with every tool, on a GPU")
    one.add_argument("--output", type=Path, required=True, help="folder; existing parts are kept")
    one.add_argument("--processes", type=int, default=5, help="per tool (default %(default)s)")
    one.add_argument("--only", nargs="+", choices=TOOLS, default=list(TOOLS), help="default: all")
    one = commands.add_parser("table", help="print the table, in Markdown")
    one.add_argument("--data", type=Path, required=True, help="side_by_side.csv")
    one = commands.add_parser("draw", help="draw the figure")
    one.add_argument("--data", type=Path, required=True, help="side_by_side.csv")
    one.add_argument("--output", type=Path, required=True, help="picture to write, e.g. a PNG")
    given = parser.parse_args(argv)
    try:
        if given.command == "measure":
            measure(given.output, given.processes, given.only)
        elif given.command == "table":
            print(summary.markdown(summary.load(given.data)))
        else:
            summary.draw(summary.per_point(summary.load(given.data)), given.output)
    except (OSError, ValueError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
