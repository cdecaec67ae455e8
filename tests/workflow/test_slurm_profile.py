"""profiles/slurm without a cluster: which points share an allocation, and what it requests."""

import re

import pytest
import yaml

from measure import ROOT
from tests.marks import slow
from tests.workflow.runner import Runner, configure

PROFILE = ("--workflow-profile", "profiles/slurm")


def test_each_matrix_is_one_group_also_where_a_folder_has_no_profile(project, tmp_path):
    configure(project, gpus=["a100_sxm4_80gb", "h200"], shapes=[{"M": 4, "N": [8, 9]}])
    printed = Runner(project)("-n", *PROFILE, "--directory", str(tmp_path / "elsewhere"))
    groups = re.findall(r"Group job points_(\w+) ", printed)
    names = (f"{gpu}_softmax_float32_uniform_4x" for gpu in ("a100_sxm4_80gb", "h200"))
    assert sorted(groups) == sorted(f"{name}{n}" for name in names for n in (8, 9))


def test_a_gpu_that_the_profile_does_not_know_is_named_when_the_sweep_is_planned(project):
    configure(project, gpus=["h100"])
    assert "KeyError: 'h100'" in Runner(project)("-n", *PROFILE, fails=True)


class LoginNode(Runner):
    """Snakemake where Slurm's commands are stand-ins, which note what they are asked."""

    mode = PROFILE

    def environment(self):
        bin = self.folder / "bin"
        bin.mkdir(exist_ok=True)
        for name in ("sbatch", "scontrol", "sacct", "sinfo", "sacctmgr"):
            answer = 'echo "$@" > asked; exit 1' if name == "sbatch" else ""
            (bin / name).write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
            (bin / name).chmod(0o755)
        variables = super().environment()
        return variables | {"PATH": f"{bin}:{variables['PATH']}"}


@pytest.mark.parametrize(
    ("options", "memory"), [("", 16000), slow("--default-resources mem_mb=32000", 32000)]
)
def test_what_an_allocation_requests(options, memory, project):
    """Its points follow one another: their times add up, and nothing else."""
    variants = ["torch_softmax", "torch_naive"]
    configure(project, gpus=["h200"], shapes=[{"M": 4, "N": 8}], variants=variants, replicates=2)
    code, _ = LoginNode(project).run(*options.split(), "--", "rows")
    assert code, "such an sbatch refuses"
    asked = (project / "asked").read_text(encoding="utf-8")
    for words in ("-t 12 ", f"--mem {memory} ", "--cpus-per-task=4 ", "--gpus=h200:1 "):
        assert words in asked


def test_points_without_a_group_are_not_measured_on_the_login_node(project):
    profile = project / "profiles" / "plain"
    profile.mkdir()
    (profile / "profile.yaml").write_text("executor: slurm\njobs: 2\n", encoding="utf-8")
    configure(project, gpus=["h200"], shapes=[{"M": 4, "N": 8}])
    runner = LoginNode(project)
    runner.mode = ("--workflow-profile", str(profile))
    code, printed = runner.run("--", "rows")
    assert code
    assert "copy 'groups' and 'group-components' from profiles/slurm/profile.yaml" in printed


def test_the_profile_of_a_cluster_says_again_what_it_replaces():
    files = [ROOT / f"profiles/{name}/profile.yaml" for name in ("default", "slurm")]
    default, slurm = (yaml.safe_load(file.read_text(encoding="utf-8")) for file in files)
    for_one_machine = {"resources", "show-failed-logs"}
    assert {key: default[key] for key in default.keys() - for_one_machine}.items() <= slurm.items()
