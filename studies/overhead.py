"""What does a point cost beside the measuring itself?

``python -m studies.overhead read RESULTS… --output FILE.csv`` reads what sweeps left in their
folders ``results``: when their points ended (logs/progress.log), how long each took (the rows), and
when the worker of each began what (logs/points/). It writes the mean seconds of a point, step by
step; the steps from the first call to the last look at what was timed are the measuring itself. A
worker on a GPU may end beside the next point's start, which then waits for the rest of it: that is
part of the last line. ``table --data FILE.csv …`` prints such files side by side, in Markdown.
"""

import argparse
import csv
import re
import statistics
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

STAGE = re.compile(r"^ *(\d+\.\d+) s  (.+)$", re.MULTILINE)
POINT = re.compile(r"^(\S+ \S+) (\d+) of \d+ points: (\w+),", re.MULTILINE)
POINTS = "points"
MEASURING = "first call"  # from here on, to the end of the worker


def between(results: Path) -> list[float]:
    """Seconds from the end of a point to the end of the next, for each that ended ok, in order.

    Of the last run, whose first point is left out: when it began is not known.
    """
    found, before = [], None
    for when, done, status in POINT.findall((results / "logs/progress.log").read_text()):
        now = datetime.fromisoformat(when)
        if int(done) == 1:
            found, before = [], None
        if before and status == "ok":
            found.append((now - before).total_seconds())
        before = now
    return found


def stages(log: Path) -> dict[str, float]:
    """Seconds that each stage of a worker took; {} where it did not come to its end."""
    found = [(float(at), name) for at, name in STAGE.findall(log.read_text())]
    if not found or found[-1][1] != "done":
        return {}
    ends = [at for at, _ in found[1:]]
    return {name: end - at for (at, name), end in zip(found, ends, strict=False)}


def costs(folders: list[Path]) -> dict[str, float]:
    """POINTS: how many ok points were looked at; then mean seconds of one by step, first all of it.

    The times of the log are whole seconds, which hundreds of points make small. Raises ValueError
    where the last run in a folder has fewer than two points.
    """
    times, rows, logs = [], [], []
    for results in folders:
        found = between(results)
        if not found:
            log = results / "logs/progress.log"
            raise ValueError(f"{log}: fewer than two ok points in the last run")
        times += found
        for wall, steps in _workers(results):
            rows.append(wall)
            logs.append(steps)
    each = statistics.fmean(times)
    worker = {name: statistics.fmean(log.get(name, 0.0) for log in logs) for name in logs[0]}
    names = list(worker)
    before = names[: names.index(MEASURING)]
    measuring = sum(seconds for name, seconds in worker.items() if name not in before)
    wall = statistics.fmean(rows)
    return {
        POINTS: len(times),
        "a point, all in all": each,
        "the measuring itself": measuring,
        "beyond it": each - measuring,
        "… worker: " + ", ".join(before): sum(worker[name] for name in before),
        "… starting and ending the worker": wall - sum(worker.values()),
        "… Snakemake and the command's start": each - wall,
    }


def _workers(results: Path) -> Iterator[tuple[float, dict[str, float]]]:
    """Of every ok point its row's wall_s, and its worker's stages."""
    for cell in sorted((results / "cells").rglob("*.csv")):
        with cell.open(newline="") as file:
            row = next(csv.DictReader(file))
        log = results / "logs/points" / cell.relative_to(results / "cells").with_suffix(".log")
        if row["status"] == "ok" and log.exists() and (found := stages(log)):
            yield float(row["wall_s"]), found


def table(paths: list[Path]) -> str:
    """What ``read`` has written, a column for each file, by its name."""
    found = {}
    for path in paths:
        with path.open(newline="") as file:
            found[path.stem] = {line["what"]: float(line["s"]) for line in csv.DictReader(file)}
    heads = [f"{name}: s, mean of {int(values.pop(POINTS))}" for name, values in found.items()]
    lines = [" | ".join(["| what", *heads]) + " |", "|---|" + "---|" * len(heads)]
    for what in next(iter(found.values())):
        cells = [f"{values[what]:.2f}" for values in found.values()]
        lines.append(" | ".join([f"| {what}", *cells]) + " |")
    return "\n".join(lines)


def main(words: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.overhead", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("read", help="what a sweep has left")
    one.add_argument("results", type=Path, nargs="+", metavar="RESULTS", help="a sweep's folder")
    one.add_argument("--output", type=Path, required=True, help="CSV file to write")
    one = commands.add_parser("table", help="print a Markdown table")
    one.add_argument("--data", type=Path, nargs="+", required=True)
    options = parser.parse_args(words)
    if options.command == "table":
        print(table(options.data))
        return 0
    try:
        found = costs(options.results)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("what", "s"))
        writer.writerows((what, f"{value:.4g}") for what, value in found.items())
    return 0


if __name__ == "__main__":
    sys.exit(main())
