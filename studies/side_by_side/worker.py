"""One process of one tool: ``python -m studies.side_by_side.worker HARNESS PROCESS TABLE POINTS``.

Times the first POINTS points and appends a line to TABLE for each, whatever becomes of it.
"""

import contextlib
import sys
import time
from pathlib import Path

import torch

import kernels
from measure import inputs
from measure.point import Point

from . import harnesses, table
from .points import points


class Process:
    """The points of a process, and what is written about each."""

    def __init__(self, harness: str, process: int, path: Path, chosen: list[Point]):
        self.harness, self.process, self.path, self.points = harness, process, path, chosen
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def run(self) -> None:
        """Time every point."""
        tool = harnesses.load(self.harness)
        if hasattr(tool, "time_all"):
            tool.time_all(len(self.points), self.prepare, self.record, self.fail)
            return
        for index in range(len(self.points)):
            try:
                self._time(tool, index)
            except Exception as error:
                self.fail(index, f"{type(error).__name__}: {error}")

    def prepare(self, index: int) -> tuple:
        """(call, x, out) of a point; compiled and loaded, so that a tool times neither."""
        with contextlib.suppress(RuntimeError):  # a broken context says so again below
            torch.cuda.empty_cache()
        point = self.points[index]
        dtype = getattr(torch, point.dtype)
        size = (point.M, point.N, point.seed, self.device)
        x = inputs.draw(point.distribution, dtype, *size)
        out = torch.empty_like(x)
        call = kernels.load(point.variant).softmax
        call(x, out)
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return call, x, out

    def record(self, index: int, found: dict, cost_s: float) -> None:
        """Write what a tool handed for a point, and the seconds that it took."""
        self._append(index, **found, cost_s=cost_s)

    def fail(self, index: int, reason: str) -> None:
        """Write that a point has no time, and why."""
        self._append(index, error=reason)

    def _time(self, tool, index: int) -> None:
        call, x, out = self.prepare(index)
        begin = time.perf_counter()
        found = tool.time_us(call, x, out)
        self.record(index, found, time.perf_counter() - begin)

    def _append(self, index: int, **found) -> None:
        line = table.line(self.harness, self.process, self.points[index], **found)
        table.append(self.path, [line])


def main(harness: str, process: str, path: str, most: str) -> None:
    """The command line's words."""
    gpu = "cuda" if torch.cuda.is_available() else "cpu"
    Process(harness, int(process), Path(path), points(gpu, int(most))).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
