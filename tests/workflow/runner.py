"""Snakemake in a copy of the project, with a sweep that two cores measure in seconds."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from measure import ROOT
from tests.workflow.forked import snakemake

TINY = {
    "sweep": "tiny",
    "gpus": ["cpu"],
    "shapes": [{"M": 4, "N": [8, 13]}],
    "variants": ["torch_naive", "torch_softmax", "triton_online", "triton_online_nocache"],
    "blocks": 6,
}
UNTIL_MERGED = ("--until", "merge")  # options of Snakemake: all rows and samples, and merge them


def environment() -> dict[str, str]:
    """That of a user who has activated the project's Python."""
    # The tests' own; the second would give each test a separate server, which is known by these.
    # Those of make would be told to a make that a test calls.
    hidden = ("TRITON_INTERPRET", "PYTEST_CURRENT_TEST", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    values = {k: v for k, v in os.environ.items() if k not in hidden}
    return values | {"PATH": f"{Path(sys.executable).parent}:{values['PATH']}"}


def configure(folder: Path, **change) -> None:
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8")) | TINY | change
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def read_csv(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Runner:
    """Snakemake in a copy of the project."""

    mode = ("--cores", "2")

    def __init__(self, folder: Path):
        self.folder = folder

    def environment(self) -> dict[str, str]:
        return environment()

    def __call__(self, *options: str, fails: bool = False) -> str:
        """What Snakemake prints in the copy, where it succeeds, or `fails` in words."""
        settings = {"cwd": self.folder, "env": self.environment(), "fails": fails}
        return snakemake(*self.mode, *options, **settings)

    def start(self, *options: str, words: list[str] | None = None, **more) -> subprocess.Popen:
        """Start what a user types, or the command `words`, in a new session; see `printed`."""
        command = [sys.executable, "-m", "snakemake", *self.mode, *options]
        with self._output.open(
            "w", encoding="utf-8"
        ) as output:  # a pipe would stay open in what a kernel leaves
            return subprocess.Popen(
                words or command,
                cwd=self.folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **more,
            )

    def run(self, *options: str, words: list[str] | None = None, **more) -> tuple[int, str]:
        """(exit code, output) of `start`."""
        code = self.start(*options, words=words, **more).wait(400)
        return code, self.printed()

    @property
    def _output(self) -> Path:
        return self.folder.parent / f"{self.folder.name}.txt"

    def printed(self) -> str:
        """The output of the latest that was started."""
        return self._output.read_text(encoding="utf-8")

    def jobs(self, *options: str) -> dict[str, int]:
        """rule -> number of jobs that a run would start now."""
        table = r"^job +count\n-[- ]+\n(.*?)\ntotal"
        lines = re.search(table, self("-n", *options), re.M | re.S)
        values = re.findall(r"^(\w+) +(\d+)$", lines[1], re.M) if lines else []
        return {rule: int(count) for rule, count in values}

    def edit(self, path: str, old: str, new: str, count: int = -1) -> None:
        file = self.folder / path
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new, count), encoding="utf-8")

    def change(self, path: str) -> None:
        """Change the code of a Python file, not what it does."""
        file = self.folder / path
        file.write_text(file.read_text(encoding="utf-8") + "\nCHANGED = True\n", encoding="utf-8")

    def rows(self) -> list[Path]:
        values = (self.folder / "results/rows").rglob("*.csv")
        return sorted(path for path in values if path.name[0] != ".")
