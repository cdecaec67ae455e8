"""Snakemake in a copy of the project, with a sweep that two cores measure in seconds."""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from measure.fingerprint import ROOT
from tests.workflow.forked import Snakemake

TINY = {
    "sweep": "tiny",
    "gpus": ["cpu"],
    "shapes": [{"M": 4, "N": [8, 13]}],
    "variants": ["torch_naive", "torch_softmax", "triton_online", "triton_online_nocache"],
    "time_budget_s": 0.05,
}


@functools.cache
def forked_snakemake() -> Snakemake:
    """Return the one of this process, with which it ends."""
    return Snakemake()


def environment() -> dict[str, str]:
    """That of a user who has activated the project's Python."""
    # the tests' own; the second would give each test a separate server, which is known by these
    hidden = ("TRITON_INTERPRET", "PYTEST_CURRENT_TEST")
    found = {k: v for k, v in os.environ.items() if k not in hidden}
    return found | {"PATH": f"{Path(sys.executable).parent}:{found['PATH']}"}


class Runner:
    """Snakemake in a copy of the project."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self, *options: str) -> subprocess.CompletedProcess:
        """Run Snakemake in the copy, in a fork of a process that has imported it."""
        return forked_snakemake()("--cores", "2", *options, cwd=self.folder, env=environment())

    def in_a_fresh_python(self, *options: str) -> subprocess.CompletedProcess:
        """The same by the command that a user types."""
        return subprocess.run(
            [sys.executable, "-m", "snakemake", "--cores", "2", *options],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env=environment(),
        )

    def jobs(self, *options: str) -> dict[str, int]:
        """rule -> number of jobs that a run would start now."""
        done = self("-n", *options)
        assert done.returncode == 0, done.stderr + done.stdout
        table = re.search(
            r"^job +count\n-[- ]+\n(.*?)\ntotal", done.stdout + done.stderr, re.M | re.S
        )
        return (
            {k: int(v) for k, v in re.findall(r"^(\w+) +(\d+)$", table[1], re.M)} if table else {}
        )

    def edit(self, path: str, old: str, new: str, count: int = -1) -> None:
        file = self.folder / path
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, count))

    def change(self, path: str) -> None:
        """Change the code of a Python file, not what it does."""
        file = self.folder / path
        file.write_text(file.read_text() + "\nCHANGED = True\n")

    def rows(self) -> list[Path]:
        return sorted((self.folder / "results/cells").rglob("*[a-z].csv"))


def configure(folder: Path, **change) -> None:
    config = yaml.safe_load((ROOT / "config.yaml").read_text()) | TINY | change
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
