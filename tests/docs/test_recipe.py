"""The recipe for CI, as far as a machine without GitHub and a GPU can run it."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from measure import ROOT
from tests.docs.test_commands import fences

RECIPE, HOWTO = "examples/compare_in_ci.yml", "docs/howto/compare_in_ci.md"
# In place of Snakemake: note which sweep measures which folder.
NOTES = '#!/bin/sh\nshift 6; echo "$@" >> measured\n'


def recipe() -> list[dict]:
    """Return the steps of the recipe."""
    return yaml.safe_load((ROOT / RECIPE).read_text(encoding="utf-8"))["jobs"]["compare"]["steps"]


def fence(language: str, words: str) -> str:
    """Return the text of the howto's fence that has these words."""
    (text,) = [text for name, text in fences(ROOT / HOWTO) if name == language and words in text]
    return text


def step(words: str, steps: list[dict]) -> str:
    """Return the commands of the step that has these words."""
    (found,) = [step["run"] for step in steps if words in step.get("run", "")]
    return found


def measured(steps: list[dict], folder: Path) -> str:
    """Return which folders the steps would measure, by which sweeps."""
    for name in ("bin", "old", "new"):
        (folder / name).mkdir()
    (folder / "bin/snakemake").write_text(NOTES, encoding="utf-8")
    (folder / "bin/snakemake").chmod(0o755)
    # the recipe puts softmax-bench's own Python first; here there may be none
    command = step("snakemake", steps).replace("$PWD/softmax-bench/.venv/bin", "$PWD/bin")
    subprocess.run(["bash", "-ec", command], cwd=folder, check=True)
    return (folder / "measured").read_text(encoding="utf-8")


def test_the_base_is_checked_out_again_on_a_runner_that_kept_the_last_one(tmp_path):
    checkout = step("worktree add", recipe())
    begin = "git init -q new && cd new && git config user.email a@b && git config user.name a"
    commit = "echo {0} > kernel.py && git add kernel.py && git commit -q -m {0}"

    def run(command: str) -> None:
        subprocess.run(["bash", "-ec", command], cwd=tmp_path, check=True, capture_output=True)

    run(f"{begin} && {commit.format('first')}")
    for base, change in (("first", "second"), ("second", "third")):
        run(f"cd new && {commit.format(change)}")
        run(checkout)
        assert (tmp_path / "old/kernel.py").read_text(encoding="utf-8") == f"{base}\n"
        (tmp_path / "old/results").mkdir()  # the next job must not find it
    run(checkout)
    assert not (tmp_path / "old/results").exists()


def test_each_version_is_measured_by_its_own_sweep(tmp_path):
    lines = [f"--directory {name} --configfile {name}/sweep.yaml\n" for name in ("old", "new")]
    assert measured(recipe(), tmp_path) == "".join(lines)


def test_the_steps_against_torch_measure_the_pull_request_alone(tmp_path):
    steps = yaml.safe_load(fence("yaml", "--until summary"))
    assert measured(steps, tmp_path) == "--directory new --configfile new/sweep.yaml\n"


@pytest.mark.parametrize(("high", "fails"), [("1.2", False), ("0.9", True), ("", True)])
def test_the_check_against_torch_fails_where_a_kernel_is_slower_or_has_no_time(
    high, fails, tmp_path
):
    (tmp_path / "results").mkdir()
    columns = "variant,dtype,M,N,status,speedup,speedup_high,behind_low\n"
    row = f"my_softmax,float32,1,1,ok,1,{high},1\n"
    (tmp_path / "results/summary.csv").write_text(columns + row, encoding="utf-8")
    check = [sys.executable, "-c", fence("python", "summary.csv")]
    assert bool(subprocess.run(check, cwd=tmp_path, capture_output=True).returncode) == fails
