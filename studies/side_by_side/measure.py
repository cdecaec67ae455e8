"""All processes of all tools, in turn, and the table of what they found.

The first processes of all tools come first, then all second ones, so that a drift of the machine
hits every tool alike. Each writes a table of its own into ``parts/``; what lies there is not
measured again, unless nothing could be timed; so a study that was interrupted goes on.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from measure.device import gpus
from measure.fingerprint import ROOT
from measure.point import Point
from studies import environment, forked

from . import harnesses, table
from .points import points

OURS = "ours"
ALL = (*harnesses.NAMES, OURS)
TIMEOUT_S = 300.0  # of one process of a tool: several times what the slowest needs
NAME = "side_by_side"


def measure(output: Path, processes: int, only: Sequence[str] = ALL, most: int | None = None):
    """Time the points with every tool of ``only``; the table lies in ``output`` at any moment."""
    chosen = points(gpus.resolve(gpus.AUTO), most)
    parts = output / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    spent_s, turns = defaultdict(float), [(i, name) for i in range(processes) for name in only]
    begin = time.monotonic()
    environment.write(output / f"{NAME}.yaml", f"side by side on {chosen[0].gpu}")
    for number, (process, name) in enumerate(turns, 1):
        path = parts / f"{name}-{process}.csv"
        started = time.monotonic()
        kept = _complete(table.read(path), chosen)
        if not kept:
            path.unlink(missing_ok=True)
            times = _ours if name == OURS else _process
            times(name, process, path, chosen)
        spent_s[name] += time.monotonic() - started
        eta_s = (time.monotonic() - begin) / number * (len(turns) - number)
        how = "kept from before" if kept else f"{time.monotonic() - started:.1f} s"
        failed = sum(bool(line["error"]) for line in table.read(path))
        print(
            f"[{number}/{len(turns)}] {name} process {process}: {len(chosen)} points, "
            f"{failed} failed, {how}; eta {eta_s:.0f} s",
            flush=True,
        )
        merge(output)
    for name, seconds in spent_s.items():
        print(f"{name}: {seconds:.1f} s in all")
    environment.write(
        output / f"{NAME}.yaml", f"side by side on {chosen[0].gpu}"
    )  # once more, with the date of the end


def _complete(lines: list[dict], chosen: list[Point]) -> bool:
    """Whether every point is there. Where all failed, it was the tool that was not ready."""
    timed = any(not line["error"] for line in lines)
    return timed and not table.missing(lines, chosen)


def merge(output: Path) -> Path:
    """Write the one table of all parts, by tool and process."""
    found = [line for path in (output / "parts").glob("*.csv") for line in table.read(path)]
    # by point as in the parts: sorting keeps what is equal in order
    found.sort(key=lambda line: (ALL.index(line["harness"]), int(line["process"])))
    path = output / f"{NAME}.csv"
    table.write(path, found)
    return path


def _process(name: str, process: int, path: Path, chosen: list[Point]) -> None:
    """A fresh Python times all points; what it leaves out fails with how it ended."""
    words = [name, str(process), str(path), str(len(chosen))]
    command = [sys.executable, "-m", "studies.side_by_side.worker", *words]
    ended = run_command(command, path.with_suffix(".log"), TIMEOUT_S)
    left = table.missing(table.read(path), chosen)
    table.append(path, [table.line(name, process, point, error=ended) for point in left])


def run_command(command: list[str], log: Path, timeout_s: float) -> str:
    """Run a command, its output going to ``log``; how it ended, in words."""
    environ = dict(os.environ)
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), environ.get("PYTHONPATH"))))
    with log.open("w") as file:
        process = subprocess.Popen(
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,  # so that all it starts can be ended with it
        )
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return f"killed after {timeout_s:g} s"
        finally:
            with contextlib.suppress(ProcessLookupError):  # all gone already
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    last = next(
        (text for text in reversed(log.read_text(errors="replace").splitlines()) if text.strip()),
        "",
    )
    return f"the process ended with code {code}: {last}"


def _ours(name: str, process: int, path: Path, chosen: list[Point]) -> None:
    """Rows of this project, each from a process of its own; kept below ``rows/``."""
    rows = forked.run(chosen, path.parent.parent / "rows" / str(process), _indented)
    pairs = zip(chosen, rows, strict=True)
    table.append(path, [_of_row(name, process, point, row) for point, row in pairs])


def _indented(text: str) -> None:
    print(f"    {text}", flush=True)


def _of_row(name: str, process: int, point: Point, row: dict) -> dict:
    """A row of this project as a line of the table."""
    if row["status"] != "ok":
        return table.line(name, process, point, error=f"{row['status']}: {row['message']}")
    return table.line(
        name,
        process,
        point,
        time_us=row["time_us"],
        low=row["time_us_q20"],
        high=row["time_us_q80"],
        n_samples=row["n_samples"],
        cost_s=row["wall_s"],
    )
