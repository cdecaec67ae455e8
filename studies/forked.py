"""Rows as ``python -m measure point`` writes them, without importing torch anew for every point.

The parent imports torch, Triton and the measuring code once, opens no CUDA context, and forks one
child per point; the child runs the worker of ``measure`` as a fresh process would. On an H200 a
fresh process imports for 2.2 s and the fork is ready in 0.3 s.
"""

import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from measure import row, supervise, worker
from measure.point import Point

CELL = "{gpu}/{op}/{dtype}/{distribution}/M{M}/N{N}/{variant}.csv"  # as workflow/sweep.py has it
IMPORTED_ONCE = ("torch", "triton", "measure.stages", "measure.telemetry")
POLL_S = 0.01  # small beside the seconds that a point takes
NO_ROW = "no row"  # in place of a status: the pipeline itself was at fault


def run(points: Iterable[Point], root: Path, say: Callable[[str], object] = print) -> list[dict]:
    """Measure every point and write its row, and its samples, below ``root``; the rows, in order.

    Nothing that happens to one point ends the others: a point without a row (see
    ``supervise.NoRow``) has the status NO_ROW here and no file. ``say`` is given a line per point.
    """
    points = list(points)
    reason = import_once()
    if reason:
        say(f"every point starts Python anew: {reason}")
    done, begin = [], time.monotonic()
    for number, point in enumerate(points, 1):
        # Triton decides for its interpreter when it is imported, which has happened here.
        start = supervise.start_python if reason or point.interpreted else _fork
        done.append(_measure(point, Path(root), start))
        eta_s = (time.monotonic() - begin) / number * (len(points) - number)
        say(f"{number}/{len(points)} {_words(point, done[-1])}, eta {eta_s:.0f} s")
    return done


def cell(point: Point) -> Path:
    """Where the row of a point lies below the root."""
    return Path(CELL.format(**vars(point)))


def import_once() -> str | None:
    """Import what every child needs; None, or why this process must not be forked."""
    # OpenBLAS starts its threads when numpy is imported, and threads do not survive a fork.
    with _environment("OPENBLAS_NUM_THREADS", "1"):
        for name in IMPORTED_ONCE:
            with contextlib.suppress(ImportError):  # the child's row will say what is missing
                importlib.import_module(name)
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized():
        return "this process has a CUDA context, which no fork can use"
    if threading.active_count() > 1:
        return f"this process has {threading.active_count()} threads, and a fork has only one"
    return None


def _measure(point: Point, root: Path, start: supervise.Start) -> dict:
    try:
        measured, samples = supervise.measure_point(point, start)
        row.write(root / cell(point), measured, samples)
    except Exception as error:  # whatever it is, the other points must still be measured
        return {"status": NO_ROW, "message": row.one_line(f"{type(error).__name__}: {error}")}
    return measured


def _words(point: Point, measured: dict) -> str:
    words = f"{point.variant} {point.M}x{point.N} {measured['status']}"
    words += f": {measured['message']}" if measured.get("message") else ""
    return words + (f" {measured['wall_s']:.1f} s" if "wall_s" in measured else "")


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def _fork(point: Point, folder: Path) -> int | None:
    """The child's return code; None when it was killed because its time was up."""
    child = multiprocessing.get_context("fork").Process(target=_child, args=(point, folder))
    child.start()
    end = time.monotonic() + point.timeout_s
    try:
        # not join(timeout): that also waits for whatever the child has forked itself
        while child.exitcode is None and time.monotonic() < end:
            time.sleep(POLL_S)
        return child.exitcode
    finally:
        with contextlib.suppress(ProcessLookupError):  # all gone already
            os.killpg(child.pid, signal.SIGKILL)
        child.kill()  # it may not have come as far as having a group
        child.join()
        child.close()


def _child(point: Point, folder: Path) -> None:
    """What ``supervise`` gives a fresh process, and then its worker."""
    os.setsid()  # so that all it starts can be ended with it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(2, 1)  # a kernel's prints belong into the log
    if point.is_cpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    worker.main(folder)
