"""Small sweeps on a CPU for faults to befall: their kernels, processes and rows."""

import base64
from pathlib import Path

import psutil

from measure.row import samples_path as samples_of
from tests import processes
from tests.bench import kernel
from tests.workflow import runner

MERGED = "results/measurements/cpu.csv"


class Sweep(runner.Runner):
    """The pipeline in a copy of the project, and all processes that it starts."""

    mode = ("--cores", "1")

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.scratch = folder.parent / "tmp"
        self.scratch.mkdir(exist_ok=True)

    def environment(self) -> dict[str, str]:
        return runner.environment() | {"PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(self.scratch)}

    def write_kernel(self, name: str, act: str, head: str = "") -> None:
        """A kernel that is right, and does what `act` says; `head` comes before all."""
        (self.folder / "kernels/contributed" / f"{name}.py").write_text(
            kernel(act, head), encoding="utf-8"
        )

    def processes(self) -> list[psutil.Process]:
        """Those that this sweep has started, and that still run."""
        return processes.by_variable("TMPDIR", self.scratch)

    def measures(self) -> bool:
        """Whether a point is being measured."""
        return any("measure" in process.info["cmdline"][1:4] for process in self.processes())

    def complete(self) -> dict[Path, tuple]:
        """Rows of which Snakemake knows that they are complete: bytes and times of both files."""
        by_path = {path: (path, samples_of(path)) for path in self.rows()}
        return {
            path: tuple((file.read_bytes(), file.stat().st_mtime_ns) for file in files)
            for path, files in by_path.items()
            if all(file.exists() and not self._is_marked(file) for file in files)
        }

    def merged(self) -> dict[tuple[str, str], str]:
        """(variant, N) to the status, of the merged file, in which every point must be once."""
        merged = runner.read_csv(self.folder / MERGED)
        statuses = {(row["variant"], row["N"]): row["status"] for row in merged}
        assert len(statuses) == len(merged)
        return statuses

    def _is_marked(self, path: Path) -> bool:
        name = base64.urlsafe_b64encode(str(path.relative_to(self.folder)).encode()).decode()
        return (self.folder / ".snakemake/incomplete" / name).exists()
