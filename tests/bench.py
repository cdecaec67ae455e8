"""`python -m measure point` as a test calls it, with workers forked from a warm server."""

import os
import subprocess
import sys
from pathlib import Path

from measure.point import Point
from tests import copies
from tests.workflow.runner import environment, read_csv

KERNEL = """
import ctypes, os, signal, sys, time
import torch

def softmax(x, out=None):
    y = torch.softmax(x, dim=-1) if out is None else torch.softmax(x, dim=-1, out=out)
    {act}
    return y
"""


def kernel(act: str, head: str = "") -> str:
    """Return the source of a right kernel that also does what `act` says, after `head`."""
    return head + KERNEL.format(act=act.strip().replace("\n", "\n    "))


def point(**change) -> Point:
    """Return a small point of the CPU, but for what `change` says."""
    fields = {"gpu": "cpu", "dtype": "float32", "M": 8, "N": 8, "variant": "torch_softmax"}
    return Point(**fields | change)


def read_row(path: Path) -> dict[str, str]:
    """Return the only row of a file."""
    (row,) = read_csv(path)
    return row


class Bench:
    """A copy of the project in which points are measured on the CPU, one at a time.

    All points share one server, which has torch loaded: a point takes a second in place of five.
    """

    def __init__(self, folder: Path):
        self.project = copies.copy_project(folder)
        self.owner = os.getpid()  # the server ends with it

    def add(self, name: str, source: str) -> None:
        """Make `source` the kernel `name`."""
        (self.project / "kernels/contributed" / f"{name}.py").write_text(source, encoding="utf-8")

    def begin(self, variant: str, served: bool = True, **options) -> subprocess.Popen:
        """Start the command that measures a point.

        `options` are the command's, without dashes; M=64, N=96 and 6 blocks if not given.
        `served=False` measures in a fresh Python.
        """
        arguments = {"variant": variant, "gpu": "cpu", "M": 64, "N": 96, "blocks": 6}
        arguments |= (
            {"output": "row.csv"} | ({"served-for": self.owner} if served else {}) | options
        )
        words = [word for key, value in arguments.items() for word in (f"--{key}", str(value))]
        return subprocess.Popen(
            [sys.executable, "-m", "measure", "point", *words],
            cwd=self.project,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def run(self, variant: str, **options) -> tuple[dict | None, subprocess.CompletedProcess]:
        """Measure a point, as of `begin`: (its row, or None where there is none; the process)."""
        output = self.project / "row.csv"
        output.unlink(missing_ok=True)
        process = self.begin(variant, **options)
        printed = process.communicate()
        done = subprocess.CompletedProcess(process.args, process.returncode, *printed)
        if not output.exists():
            return None, done
        assert done.returncode == 0, done.stderr
        return read_row(output), done

    def replicates(self, variant: str, change: dict | None = None, **options) -> tuple:
        """Measure a point, and a second replicate of it, with other options by `change`.

        (the first row; what `run` returns of the second)
        """
        first = self.row(variant, **options)
        path = (self.project / "row.csv").rename(self.project / "first.csv")
        again = options | {"replicate": 2, "checked": path} | (change or {})
        return first, *self.run(variant, **again)

    def row(self, variant: str, **options) -> dict[str, str]:
        """The row of one point."""
        row, done = self.run(variant, **options)
        assert row is not None, done.stderr
        return row
