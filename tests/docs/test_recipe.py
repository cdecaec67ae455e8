"""The recipe for CI, as far as a machine without GitHub and a GPU can run it."""

import subprocess

import yaml

from measure import ROOT

RECIPE = "examples/compare_in_ci.yml"
# In place of Snakemake: note which sweep measures which folder.
NOTES = '#!/bin/sh\nshift 6; echo "$@" >> measured\n'


def step(words: str) -> str:
    """Return the commands of the step that has these words."""
    steps = yaml.safe_load((ROOT / RECIPE).read_text(encoding="utf-8"))["jobs"]["compare"]["steps"]
    (found,) = [step["run"] for step in steps if words in step.get("run", "")]
    return found


def test_the_base_is_checked_out_again_on_a_runner_that_kept_the_last_one(tmp_path):
    checkout = step("worktree add")
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
    for folder in ("bin", "old", "new"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bin/snakemake").write_text(NOTES, encoding="utf-8")
    (tmp_path / "bin/snakemake").chmod(0o755)
    # the recipe puts softmax-bench's own Python first; here there may be none
    measure = step("snakemake").replace("$PWD/softmax-bench/.venv/bin", "$PWD/bin")
    subprocess.run(["bash", "-ec", measure], cwd=tmp_path, check=True)
    assert (tmp_path / "measured").read_text(encoding="utf-8") == (
        "--directory old --configfile old/sweep.yaml\n--directory new --configfile new/sweep.yaml\n"
    )
