"""The recipe for CI, as far as a machine without GitHub and a GPU can run it."""

import subprocess

import yaml

from measure import ROOT

RECIPE = "examples/compare_in_ci.yml"


def test_the_base_is_checked_out_again_on_a_runner_that_kept_the_last_one(tmp_path):
    steps = yaml.safe_load((ROOT / RECIPE).read_text(encoding="utf-8"))["jobs"]["compare"]["steps"]
    (checkout,) = [step["run"] for step in steps if "worktree add" in step.get("run", "")]
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
