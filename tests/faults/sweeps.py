"""Small sweeps on a CPU for faults to befall: their configuration, kernels, processes and rows."""

import base64
import contextlib
import csv
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import psutil

from analysis import rows
from measure.row import samples_path as samples_of
from tests import processes
from tests.bench import kernel
from tests.workflow import runner

MARK = "SOFTMAX_BENCH_TEST"  # variable by which a test knows the processes that it started
MERGED = "results/measurements/cpu.csv"
UNTIL_MERGED = ("--until", "merge")  # options of Snakemake: all rows and samples, and merge them


def write_kernel(folder: Path, name: str, act: str, head: str = "") -> None:
    """A kernel that is right, and does what ``act`` says on the way; ``head`` comes before all."""
    (folder / "kernels/contributed" / f"{name}.py").write_text(kernel(act, head))


def configure(folder: Path, **change) -> None:
    """Write the config of a sweep of four quick points, or of what ``change`` makes of it."""
    runner.configure(folder, **{"variants": ["torch_naive", "torch_softmax"]} | change)


class Sweep:
    """The pipeline in a copy of the project, and all processes that it starts."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.scratch = folder.parent / "tmp"
        self.scratch.mkdir(exist_ok=True)
        self._said = folder.parent / "said.txt"
        self._mark = uuid.uuid4().hex

    def environment(self) -> dict[str, str]:
        found = runner.environment()
        found.pop("XDG_RUNTIME_DIR", None)  # sockets of others
        found |= {"PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(self.scratch)}
        return found | {MARK: self._mark}

    def unlock(self) -> None:
        """Remove the lock of a sweep that was killed."""
        done = runner.forked_snakemake()("--unlock", cwd=self.folder, env=self.environment())
        assert done.returncode == 0, done.stderr

    def start(self, *options: str, words: list[str] | None = None, **more) -> subprocess.Popen:
        """Start Snakemake, or the command ``words``, in a new session; see ``said``."""
        command = [sys.executable, "-m", "snakemake", "--cores", "1", *options]
        with self._said.open("w") as said:  # a pipe would stay open in what a kernel leaves
            return subprocess.Popen(
                words or command,
                cwd=self.folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **more,
            )

    def said(self) -> str:
        """What the latest that was started has said."""
        return self._said.read_text()

    def run(self, *options: str, words: list[str] | None = None, **more) -> tuple[int, str]:
        """(exit code, what it said) of ``start``."""
        code = self.start(*options, words=words, **more).wait()
        return code, self.said()

    def point(self, variant: str, *options: str, **more) -> tuple[dict | None, str]:
        """(row or None, what it said) of one point by hand, written to row.csv."""
        words = [sys.executable, "-m", "measure", "point", "--gpu", "cpu", "--M", "64", "--N", "96"]
        words += ["--variant", variant, "--time-budget", "0.05", "--output", "row.csv", *options]
        code, said = self.run(words=words, **more)
        path = self.folder / "row.csv"
        assert path.exists() == (code == 0), said
        return (read(path) if code == 0 else None), said

    def processes(self) -> list[psutil.Process]:
        """Those that this sweep has started, and that still run."""
        return processes.by_variable(MARK, self._mark)

    def nothing_runs(self) -> bool:
        return not self.processes()

    def measures(self) -> bool:
        """Whether a point is being measured."""
        words = (processes.ask(process.cmdline, []) for process in self.processes())
        return any("measure" in found[1:4] for found in words)

    def end(self) -> None:
        """Kill what a test has left."""
        processes.kill(self.processes())

    def cells(self) -> list[Path]:
        return sorted(p for p in self._in_cells() if p.suffix == ".csv" and p.name[0] != ".")

    def litter(self) -> list[Path]:
        """Files in results/cells that are neither rows nor samples."""
        named = {samples_of(path) for path in self.cells()} | set(self.cells())
        return sorted(set(self._in_cells()) - named)

    def complete(self) -> dict[Path, tuple]:
        """Rows of which Snakemake knows that they are complete: bytes and times of both files."""
        found = {}
        for path in self.cells():
            files = (path, samples_of(path))
            if all(f.exists() and not self._is_marked(f) for f in files):
                found[path] = tuple((f.read_bytes(), f.stat().st_mtime_ns) for f in files)
        return found

    def statuses(self) -> dict[tuple[str, str], str]:
        """(variant, N) to the status of every row that there is; each is read strictly."""
        found = map(read, self.cells())
        return {(row["variant"], row["N"]): row["status"] for row in found}

    def messages(self) -> dict[str, str]:
        """Variant to what its row says of itself."""
        return {row["variant"]: row["message"] for row in map(read, self.cells())}

    def merged(self) -> dict[tuple[str, str], str]:
        """The same of the merged file, in which every point must be once."""
        with (self.folder / MERGED).open(newline="") as file:
            found = [((r["variant"], r["N"]), r["status"]) for r in csv.DictReader(file)]
        assert len(dict(found)) == len(found)
        return dict(found)

    def _in_cells(self) -> list[Path]:
        return [p for p in (self.folder / "results/cells").rglob("*") if p.is_file()]

    def _is_marked(self, path: Path) -> bool:
        name = base64.urlsafe_b64encode(str(path.relative_to(self.folder)).encode()).decode()
        return (self.folder / ".snakemake/incomplete" / name).exists()


def read(path: Path) -> dict[str, str]:
    """The row of a cell, which must be one that merging takes, as must be its samples."""
    rows.check_samples(path)
    return rows.read_cell(path)


def kill_group(process: subprocess.Popen) -> None:
    """SIGKILL to a sweep and its jobs; what they have put into sessions of their own is spared."""
    with contextlib.suppress(ProcessLookupError):  # all have ended
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
