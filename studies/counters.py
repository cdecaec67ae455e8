"""What holds a kernel back? The GPU's own counters, by NVIDIA's Nsight Compute (``ncu``).

``python -m studies.counters record --output FILE.csv POINT…`` runs each point once under ``ncu``,
with clocks as they are and a cold cache; a point is dtype:MxN:variant, as
float32:1x4194304:frontier. One whose input did not come from memory was not cold, and is left out.
``table --data FILE.csv…`` prints what it found in Markdown. Counters slow a kernel down and run it
several times: the rows of a sweep say how fast it is, this says why.
"""

import argparse
import csv
import io
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from analysis.report import markdown
from analysis.schema import ITEMSIZE
from measure.fingerprint import ROOT

from . import environment

RANGE = "timed"
COLD = 0.9  # of the input's bytes, at least, are read from memory
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
# Why a warp did not issue: Nsight Compute's Kernel Profiling Guide, "Warp Stall Reasons".
STALLS = ("long_scoreboard", "short_scoreboard", "barrier", "membar", "mio_throttle",
          "lg_throttle", "math_pipe_throttle", "wait", "drain", "sleeping")  # fmt: skip
# Column of the table, counter, and its unit's factor (ncu's base units are ns, byte, %).
COUNTERS = {
    "time_us": ("gpu__time_duration.sum", 1e-3),
    "dram_percent": ("dram__throughput.avg.pct_of_peak_sustained_elapsed", 1.0),
    "dram_read_mb": ("dram__bytes_read.sum", 1e-6),
    "dram_written_mb": ("dram__bytes_write.sum", 1e-6),
    "issue_percent": ("smsp__issue_active.avg.pct_of_peak_sustained_active", 1.0),
    "exp_unit_percent": ("sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", 1.0),
    "warps_percent": ("sm__warps_active.avg.pct_of_peak_sustained_active", 1.0),
    "registers": ("launch__registers_per_thread", 1.0),
}
POINT = ("dtype", "M", "N", "variant")
COLUMNS = (*POINT, *COUNTERS, "stalls")
HEADS = {
    "time_us": "time under ncu (µs)",
    "dram_percent": "memory busy (%)",
    "dram_read_mb": "read (MB)",
    "dram_written_mb": "written (MB)",
    "issue_percent": "issue slots used (%)",
    "exp_unit_percent": "exp unit busy (%)",
    "warps_percent": "warps resident (%)",
    "registers": "registers",
    "stalls": "warps wait for (cycles per instruction)",
}


class Failed(RuntimeError):
    """Why there are no counters."""


def parsed(point: str) -> tuple[str, int, int, str]:
    """(dtype, M, N, variant) of a point's words. Raises ValueError."""
    try:
        dtype, shape, variant = point.split(":")
        M, N = map(int, shape.split("x"))
    except ValueError:
        raise ValueError(f"point {point!r}: wanted dtype:MxN:variant") from None
    return dtype, M, N, variant


def run(point: str) -> None:
    """Call the variant, once before and once in the range that ncu watches."""
    import torch

    import kernels

    dtype, M, N, variant = parsed(point)
    softmax = kernels.load(variant).softmax
    x = torch.randn(M, N, device="cuda").to(getattr(torch, dtype))
    out = torch.empty_like(x)
    softmax(x, out)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push(RANGE)
    softmax(x, out)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()


def measured(point: str) -> dict:
    """A row of the table. Raises Failed where ncu does not run, or saw other than one kernel."""
    parsed(point)
    ncu = shutil.which("ncu")
    if ncu is None:
        raise Failed("ncu (NVIDIA Nsight Compute) is not installed")
    metrics = [counter for counter, _ in COUNTERS.values()] + [STALLED.format(s) for s in STALLS]
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--nvtx"]
    command += ["--nvtx-include", f"{RANGE}/", "--clock-control", "none"]
    command += ["--cache-control", "all"]  # emptied before each of the runs that counting takes
    command += ["--metrics", ",".join(metrics)]
    command += [sys.executable, "-m", "studies.counters", "run", point]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"ncu ended with {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return row_of(point, done.stdout)


def row_of(point: str, said: str) -> dict:
    """What ncu's CSV has for the one kernel of a point. Raises Failed where there is not one."""
    lines = [line for line in said.splitlines() if line.startswith('"')]
    table = list(csv.reader(io.StringIO("\n".join(lines))))
    if len(table) != 3:  # names, units, values
        raise Failed(f"{point}: ncu saw {max(len(table) - 2, 0)} kernels instead of one")
    values = dict(zip(table[0], table[2], strict=True))

    def number(name: str) -> float:
        return float(values.get(name, "nan").replace(",", ""))

    row = dict(zip(COLUMNS, parsed(point), strict=False))
    for column, (counter, factor) in COUNTERS.items():
        row[column] = f"{number(counter) * factor:.4g}"
    stalls = sorted(((number(STALLED.format(s)), s) for s in STALLS), reverse=True)
    row["stalls"] = ", ".join(f"{s} {cycles:.1f}" for cycles, s in stalls[:3] if cycles > 0.05)
    return row


def was_cold(row: dict) -> bool:
    """Whether the input came from memory, in the run that counted what did."""
    input_mb = int(row["M"]) * int(row["N"]) * ITEMSIZE[row["dtype"]] * 1e-6
    return float(row["dram_read_mb"]) >= COLD * input_mb


def table(data: Iterable[Path]) -> str:
    """The table of files that ``record`` has written, in Markdown.

    Of a point that several have, as the last has it.
    """
    rows = {}
    for path in data:
        with path.open(newline="") as file:
            rows |= {tuple(row[name] for name in POINT): row for row in csv.DictReader(file)}
    counted = COLUMNS[len(POINT) :]
    lines = [
        [
            f"{row['dtype']} {row['M']}x{row['N']} {row['variant']}",
            *(row[column].replace("_", " ") for column in counted),
        ]
        for row in rows.values()
    ]
    return markdown.table(["point", *(HEADS[column] for column in counted)], lines, "counters")


def main(words: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.counters", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("record", help="run points under ncu")
    one.add_argument("--output", type=Path, required=True, help="CSV file to write")
    one.add_argument("points", nargs="+", metavar="POINT", help="dtype:MxN:variant")
    one = commands.add_parser("run", help="what record runs under ncu")
    one.add_argument("point")
    one = commands.add_parser("table", help="print a Markdown table")
    one.add_argument("--data", type=Path, required=True, nargs="+", metavar="FILE")
    options = parser.parse_args(words)
    try:
        if options.command == "table":
            print(table(options.data))
        elif options.command == "run":
            run(options.point)
        else:
            every = [measured(point) for point in options.points]
            rows = [row for row in every if was_cold(row)]
            if len(rows) < len(every):
                print(f"left out, not cold: {len(every) - len(rows)} points", file=sys.stderr)
            options.output.parent.mkdir(parents=True, exist_ok=True)
            with options.output.open("w", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
            environment.write(options.output.with_suffix(".yaml"), "counters of Nsight Compute")
    except (OSError, ValueError, Failed) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
