"""What does a point cost beside the measuring itself?

``python -m studies.overhead RESULTS`` reads what a sweep left in its folder ``results``: when its
points ended (logs/progress.log), how long each took (the rows), and when the worker of each began
what (logs/points/). It prints the mean seconds of a point, step by step, in Markdown; the steps
from the first call to the last look at what was timed are the measuring itself.
"""

import argparse
import csv
import re
import statistics
import sys
from datetime import datetime
from pathlib import Path

STAGE = re.compile(r"^ *(\d+\.\d+) s  (.+)$", re.MULTILINE)
POINT = re.compile(r"^(\S+ \S+) (\d+) of (\d+) points: ok,", re.MULTILINE)
MEASURING = "first call"  # from here on, to the end of the worker


def ended(results: Path) -> list[datetime]:
    """When each ok point of the last run ended, in order."""
    found = []
    for when, done, _ in POINT.findall((results / "logs/progress.log").read_text()):
        if int(done) == 1:
            found = []
        found.append(datetime.fromisoformat(when))
    return found


def stages(log: Path) -> dict[str, float]:
    """Seconds that each stage of a worker took; {} where it did not come to its end."""
    found = [(float(at), name) for at, name in STAGE.findall(log.read_text())]
    if not found or found[-1][1] != "done":
        return {}
    ends = [at for at, _ in found[1:]]
    return {name: end - at for (at, name), end in zip(found, ends, strict=False)}


def costs(results: Path) -> dict[str, float]:
    """Mean seconds of an ok point by step; the first is all of it.

    The times of the log are whole seconds, which hundreds of points make small. Raises ValueError
    where the last run has fewer than two points.
    """
    times = ended(results)
    if len(times) < 2:
        raise ValueError(f"{results}/logs/progress.log: fewer than two ok points in the last run")
    each = (times[-1] - times[0]).total_seconds() / (len(times) - 1)
    rows, logs = [], []
    for cell in sorted((results / "cells").rglob("*.csv")):
        with cell.open(newline="") as file:
            row = next(csv.DictReader(file))
        log = results / "logs/points" / cell.relative_to(results / "cells").with_suffix(".log")
        if row["status"] == "ok" and log.exists() and (found := stages(log)):
            rows.append(float(row["wall_s"]))
            logs.append(found)
    worker = {name: statistics.fmean(log.get(name, 0.0) for log in logs) for name in logs[0]}
    names = list(worker)
    before = names[: names.index(MEASURING)]
    measuring = sum(seconds for name, seconds in worker.items() if name not in before)
    wall = statistics.fmean(rows)
    return {
        f"a point, all in all ({len(times)} points)": each,
        "the measuring itself": measuring,
        "beyond it": each - measuring,
        "… worker: " + ", ".join(before): sum(worker[name] for name in before),
        "… starting and ending the worker": wall - sum(worker.values()),
        "… Snakemake and the command's start": each - wall,
    }


def main(words: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.overhead", description=__doc__)
    parser.add_argument("results", type=Path, metavar="RESULTS", help="folder of a sweep's results")
    try:
        found = costs(parser.parse_args(words).results)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("| what | s |\n|---|---|")
    for name, seconds in found.items():
        print(f"| {name} | {seconds:.3f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
