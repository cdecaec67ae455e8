"""Seconds and memory of every stage of sweeps whose points are not measured."""

import csv
import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import psutil
import yaml

from measure.fingerprint import ROOT, git_state
from workflow import published, sweep

from . import project

COLUMNS = ("points", "stage", "repeat", "wall_s", "cpu_s", "peak_mb", "others")
REPEATS = {100: 3, 1_000: 1, 10_000: 1, 50_000: 1}
BATCH = 25_000  # points; beyond, a sweep is also run in parts
TRIES = 3  # of a stage, while somebody else has the machine
SAMPLING_S = 0.1
PACKAGES = ("snakemake", "pandas", "matplotlib", "seaborn", "numpy")


class Usage(NamedTuple):
    """``others``: cores that all other processes had in the meantime, on average."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    others: float


@dataclass(frozen=True)
class Stage:
    """Commands one after another; ``fresh``: nothing may have been run before."""

    name: str
    commands: list[list[str]]
    fresh: bool = False


def stages(folder: Path, points: int) -> list[Stage]:
    """The stages in their order, each ready for the next."""
    snakemake = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(folder)]
    parts = points // BATCH
    batches = [[*snakemake, "--batch", f"all={i}/{parts}"] for i in range(1, parts + 1)]
    return [
        Stage("dry run", [[*snakemake, "-n"]], fresh=True),
        *([Stage("run in batches", batches, fresh=True)] if parts > 1 else []),
        Stage("run", [snakemake], fresh=True),
        Stage("dry run, all done", [[*snakemake, "-n"]]),
        *_analysis(folder, points),
    ]


def _analysis(folder: Path, points: int) -> list[Stage]:
    """The commands of workflow/rules/analysis.smk, all figures among them."""
    settings, out = project.config(points), folder / "analysis"
    chosen = sweep.points(settings, "h200")
    cells = folder / "cells.txt"
    cells.write_text("\n".join(str(folder / "ready" / sweep.row_path(p)) for p in chosen))
    # as workflow/scripts/merge.py does it: so many paths do not fit on a command line
    merge = (
        "import sys; from analysis.__main__ import main; "
        f"cells = open({str(cells)!r}).read().split(); "
        f"sys.exit(main(['merge', '--sweep', 'scale', '--output', {str(out / 'h200.csv')!r}, "
        "*cells]))"
    )

    def command(name: str, *words: object) -> list[str]:
        return [sys.executable, "-m", "analysis", name, *map(str, words)]

    tables = ROOT / "results/published"
    rows = ("--measurements", out / "measurements.csv")
    both = (*rows, "--published", tables)
    recorded = sweep.recorded_tables(["h200"], ROOT / "results/recorded")
    sets = sweep.figure_sets(settings, ROOT / "results/recorded", tables)
    figures = [
        command(name, *both, "--gpu", gpu, "--dtype", dtype, "--sweep", of, "--output-dir", out)
        for name, drawn in (("figures", sets), ("bars", published.with_bars(sets, tables)))
        for gpu, dtype, of in drawn
    ]
    collected = ("--recorded", *recorded, "--output", out / "measurements.csv", out / "h200.csv")
    made = ("--summary", out / "summary.csv", "--claims", out / "claims.csv")
    report = (
        *both,
        *made,
        "--figures-dir",
        out,
        "--command",
        "none",
        "--output",
        out / "report.md",
    )
    return [
        Stage("merge", [[sys.executable, "-c", merge]]),
        Stage("collect", [command("collect", *collected)]),
        Stage("summary", [command("summary", *rows, "--output", out / "summary.csv")]),
        Stage("claims", [command("claims", *both, "--output", out / "claims.csv")]),
        Stage("figures", figures),
        Stage("report", [command("report", *report)]),
    ]


def measure(output: Path, sizes: list[int], calm: float, skip: set[str]) -> None:
    """Write the lines of all stages to ``output``, and beside it a YAML file of what it ran on.

    A stage during which others had more than ``calm`` cores is tried again, TRIES times at most.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    _describe(output.with_suffix(".yaml"), sizes, skip)
    with output.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for points in sizes:
            with tempfile.TemporaryDirectory(prefix="scale-") as name:
                folder = Path(name) / "sweep"
                project.prepare(folder, points)
                for repeat in range(REPEATS[points]):
                    for stage in (s for s in stages(folder, points) if s.name not in skip):
                        used = calmest(stage, folder, calm)
                        writer.writerow(
                            [points, stage.name, repeat, *(f"{value:.4g}" for value in used)]
                        )
                        file.flush()
                        print(f"{points} points, {stage.name}: {used}", file=sys.stderr)


def calmest(stage: Stage, folder: Path, calm: float) -> Usage:
    """The usage of a stage: the first calm one, or that which others disturbed least."""
    found = []
    for _ in range(TRIES):
        if stage.fresh:
            project.clear(folder)
        found.append(run(stage, folder))
        if found[-1].others <= calm:
            break
    return min(found, key=lambda used: used.others)


def run(stage: Stage, folder: Path) -> Usage:
    """Sum of seconds and largest memory over the commands of a stage."""
    parts = [watched(command, folder) for command in stage.commands]
    wall = sum(part.wall_s for part in parts)
    others = sum(part.others * part.wall_s for part in parts) / wall
    peak = max(part.peak_mb for part in parts)
    return Usage(wall, sum(part.cpu_s for part in parts), peak, others)


def watched(command: list[str], folder: Path) -> Usage:
    """Run a command in the project's folder with the stand-ins of ``folder``.

    Memory is the largest sum of resident pages of the process and all below it, looked at every
    SAMPLING_S, and at least what the largest of them had. Raises CalledProcessError.
    """
    log = folder / "log.txt"
    busy, own, begin = _busy_s(), _own_s(), time.monotonic()
    with log.open("wb") as file:
        process = psutil.Popen(
            command, cwd=ROOT, env=project.environment(folder), stdout=file, stderr=file
        )
        peak = 0
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            peak = max(peak, _resident(process))
            time.sleep(SAMPLING_S)
    wall = time.monotonic() - begin
    if code := os.waitstatus_to_exitcode(status):
        raise subprocess.CalledProcessError(code, command, log.read_text()[-2000:])
    cpu = usage.ru_utime + usage.ru_stime
    others = (_busy_s() - busy) - cpu - (_own_s() - own)
    return Usage(wall, cpu, max(peak / 1e6, usage.ru_maxrss * 1024 / 1e6), max(0, others / wall))


def _resident(process: psutil.Process) -> int:
    total = 0
    try:
        for each in (process, *process.children(recursive=True)):
            total += each.memory_info().rss
    except psutil.Error:  # one that has just ended
        return 0
    return total


def _busy_s() -> float:
    """Seconds that all cores together have been busy, since the machine was started."""
    times = psutil.cpu_times()
    return sum(times) - times.idle - times.iowait - times.guest - times.guest_nice


def _own_s() -> float:
    times = os.times()
    return times.user + times.system


def _describe(path: Path, sizes: list[int], skip: set[str]) -> None:
    command = ["python", "-m", "studies.scale", "measure", "--sizes", *map(str, sizes)]
    command += ["--skip", *sorted(skip)] if skip else []
    facts = {
        "title": "what the pipeline costs beside the measuring",
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(command),
        **git_state(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
    }
    path.write_text(yaml.safe_dump(facts, sort_keys=False, allow_unicode=True))


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(line.split(": ")[1] for line in lines if line.startswith("model name"))
