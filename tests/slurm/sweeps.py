"""Sweeps on the lab's cluster: copies of the project, whose points are stand-ins."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

import kernels
from measure.fingerprint import ROOT
from tests import copies
from tests.slurm.lab import Lab, until
from tests.workflow import runner

HERE = Path(__file__).parent
# ways to ask for a GPU: by its type, or by where it is and what its node offers
TABLE = {
    "a100": {"gres": "gpu:a100:1", "points": 5},
    "h200": {"gres": "gpu:1", "partition": "h200s", "constraint": "has_h200", "points": 12},
    "l40s": {"gres": "gpu:l40s:1", "points": 5},
}
VARIANTS = ["torch_softmax", "torch_naive", "torch_jit", "triton_online"]


class Sweep:
    """A copy of the project with its own configuration, and TABLE in the profile."""

    def __init__(self, folder: Path, lab: Lab, gpus: list[str], sizes: list[int]):
        self.lab = lab
        self.folder = copies.copy_project(folder)
        for recorded in (folder / "data/recorded").iterdir():  # nothing to draw from it here
            shutil.rmtree(recorded)
        shapes = [{"M": 4, "N": sizes}]
        runner.configure(folder, gpus=gpus, variants=VARIANTS, shapes=shapes)
        shutil.copy(HERE / "standin.py", folder / "measure")
        with (folder / "measure/process/run_point.py").open("a") as file:
            file.write("\n\nfrom ..standin import measure_point\n")
        self.set_profile("__variables__", "gpus", value=TABLE)

    def set_profile(self, *keys: str, value) -> None:
        """Give a key of the profile, named by the keys above it and itself, another value."""
        file = self.folder / "profiles/slurm/profile.yaml"
        whole = yaml.safe_load(file.read_text())
        inner = whole
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        file.write_text(yaml.safe_dump(whole, sort_keys=False))

    def start(self, *options: str) -> subprocess.Popen:
        """The command of docs/cluster.md; it looks at the queue after 2 s instead of 40."""
        command = [sys.executable, "-m", "snakemake", "--workflow-profile", "profiles/slurm"]
        command += ["--slurm-init-seconds-before-status-checks", "2", *options]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.lab.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __call__(self, *options: str) -> tuple[int, str]:
        """(return code, what it printed)."""
        return ended(self.start(*options))

    def start_and_hold(self, after: int) -> subprocess.Popen:
        """Start, let so many more points pass, and return once the next one is held."""
        count = len(self.visits()) + after
        (self.folder / "hold").write_text(str(count))
        run = self.start("--until", "merge")
        try:
            until(lambda: len(self.visits()) > count, 240, "a point that is held")
        except TimeoutError:
            run.kill()
            raise AssertionError(run.communicate()[0]) from None
        return run

    def release(self) -> None:
        """Hold no point any more."""
        (self.folder / "hold").unlink()

    def visits(self) -> list[dict]:
        """Points that began, in order; with ``end`` where they ended."""
        file = self.folder / "visits.jsonl"
        begun = {}
        for line in file.read_text().splitlines() if file.exists() else []:
            visit = json.loads(line)
            if "begin" in visit:
                begun[visit["id"]] = visit
            else:
                begun[visit["id"]]["end"] = visit["end"]
        return list(begun.values())

    def rows(self) -> dict[str, Path]:
        """gpu/N…/variant -> file."""
        found = (self.folder / "results/cells").rglob("*[a-z].csv")
        return {f"{p.parts[-7]}/{p.parts[-2]}/{p.stem}": p for p in found}

    def jobs(self) -> list[dict[str, str]]:
        """Its jobs in Slurm, in order."""
        return self.lab.jobs(self.folder)

    def edit_kernels(self) -> None:
        """Make every row outdated."""
        for variant in VARIANTS:
            file = self.folder / kernels.file(variant).relative_to(ROOT)
            file.write_text(file.read_text() + "\nEDITED = True\n")


def ended(run: subprocess.Popen) -> tuple[int, str]:
    """(return code, what it printed) of a run, once it has ended."""
    printed, _ = run.communicate(timeout=400)
    return run.returncode, printed
