"""profiles/slurm without a cluster: what it asks for, and what is refused before it asks."""

import re
from pathlib import Path

import pytest
import yaml
from snakemake.exceptions import WorkflowError

from measure import ROOT
from measure.point import Point
from planning import cluster, internals, points
from planning.validate import ConfigError
from tests.marks import slow
from tests.workflow.runner import Runner, configure

TABLE = {"a100": {"gres": "gpu:a100:1", "points": 5}, "h200": {"gres": "gpu:1", "points": 2}}


def test_the_table_is_that_of_the_profile_in_use(tmp_path, monkeypatch):
    mine = tmp_path / "mine"
    for default in ([], ["mine"]):
        for words, names in (
            ("--workflow-profile a", ["a", *default]),
            ("--profile=b", ["b"]),
            ("--workflow-profile a --profile b", ["a", "b"]),
            ("", default),
        ):
            monkeypatch.setattr("sys.argv", ["snakemake", "-n", *words.split()])
            assert internals.named_profiles() == names
        monkeypatch.setenv("SNAKEMAKE_PROFILE", "mine")
    assert cluster.profile_with_table([], ROOT) is None
    assert cluster.profile_with_table(["default"], ROOT) is None
    mine.mkdir()
    (mine / "profile.yaml").write_text("jobs: 2\nexecutor: slurm\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine has no gpus\.yaml.*copy .*profiles/slurm"):
        cluster.profile_with_table([str(mine)], ROOT)
    (mine / "gpus.yaml").touch()
    assert cluster.profile_with_table([str(mine)], ROOT) == str(mine)
    assert cluster.profile_with_table(["default", str(mine)], ROOT) == str(mine)
    assert Path(cluster.profile_with_table(["slurm"], ROOT)).samefile(ROOT / "profiles/slurm")


def test_a_gpu_that_the_table_lacks_is_refused():
    file = Path("mine/gpus.yaml")
    cluster.require_gpus(["h200", "a100", "recorded"], TABLE, file)
    for requested, words in (
        (["a100", "h100"], "mine/gpus.yaml has no line for 'h100'.*did you mean 'h200'"),
        (["cpu"], "no line for 'cpu'.*allowed: a100, h200"),
        (["auto"], r"for example 'gpus: \[a100, h200\]'"),
    ):
        with pytest.raises(ConfigError, match=words):
            cluster.require_gpus(requested, TABLE, file)


def test_a_line_of_the_table_that_cannot_be_used_is_refused(tmp_path):
    for line, words in (
        ("{partitoin: gpu, points: 60}", r"a100 has an unknown key 'partitoin'; .* 'partition'"),
        ("{partition: gpu}", r"a100 lacks 'points'; for example a100: \{gres"),
        ("", "a100 lacks 'points'"),
        ("{points: sixty}", "points: 'sixty'; a whole number of at least 1 is needed"),
        ("{points: 0}", "points: 0; a whole"),
        ("{gres: 1, points: 60}", "gres: 1; text is needed"),
    ):
        (tmp_path / "gpus.yaml").write_text(f"a100: {line}\n", encoding="utf-8")
        with pytest.raises(ConfigError, match=words):
            cluster.table(tmp_path / "gpus.yaml")
    (tmp_path / "gpus.yaml").write_text("4090: {points: 60}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="the GPU 4090 is no text; put it in quotes"):
        cluster.table(tmp_path / "gpus.yaml")


BROKEN = [b"a: {b: [c", b"\xff\xfe\0", b"- a100\n", b"a100: [1]\n", b"a100: 5", b""]


@pytest.mark.parametrize("content", BROKEN)
def test_a_table_that_is_none_is_named(content, tmp_path):
    file = tmp_path / "gpus.yaml"
    file.write_bytes(content)
    words = "not valid YAML|a table|lacks 'points'|names no GPU"
    with pytest.raises(ConfigError, match=rf"gpus\.yaml: .*({words})"):
        cluster.table(file)


def test_without_slurm_s_commands_nothing_waits_for_them(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(WorkflowError, match="no sbatch; call Snakemake on a login node"):
        cluster.check_commands()


def test_a_family_of_gpus_is_answered_by_the_names_of_its_boards():
    table = {"a100_sxm4_80gb": {}, "a100_pcie_40gb": {}, "h200": {}}
    with pytest.raises(ConfigError, match=r"'a100'.*llowed: a100_sxm4_80gb, a100_pcie_40gb$"):
        cluster.require_gpus(["a100"], table, Path("gpus.yaml"))


def test_minutes_cover_the_time_out_and_what_comes_around_it():
    assert [cluster.minutes(seconds) for seconds in (120, 110, 111, 0.5)] == [3, 2, 3, 1]


def test_an_allocation_has_whole_matrices():
    """Also one with more points than the table says: two boards would not be compared."""
    sizes = ("a100", 8, 3), ("a100", 9, 2), ("a100", 10, 3), ("h200", 8, 3)
    names = ["torch_softmax", "torch_naive", "torch_jit"]
    planned = [Point(gpu, "float32", 4, n, v) for gpu, n, some in sizes for v in names[:some]]
    groups = cluster.allocations(planned, TABLE)
    places = {(p.gpu, p.N, groups[points.row_path(p)]) for p in planned}
    assert places == {
        *(("a100", 8, "points_a100_1"), ("a100", 9, "points_a100_1")),
        *(("a100", 10, "points_a100_2"), ("h200", 8, "points_h200_1")),
    }


def test_each_allocation_is_one_group(project):
    shapes = [{"M": 4, "N": {"from": 1, "to": 40, "step": 1}}]
    types = ["a100_sxm4_80gb", "h200"]
    configure(project, gpus=types, shapes=shapes)
    options = "-n", "--workflow-profile", "profiles/slurm"
    # 160 points of each type, 60 to a group
    groups = re.findall(r"Group job (points_\w+) ", Runner(project)(*options))
    assert sorted(groups) == [f"points_{gpu}_{n}" for gpu in types for n in (1, 2, 3)]
    configure(project, gpus=["h100"])
    assert "no line for 'h100'" in Runner(project)(*options, fails=True)


@pytest.mark.parametrize(
    "more",
    [
        ["--directory", "{elsewhere}"],
        slow(["--group-components", "others=5"]),
        slow(["--set-resource-scopes", "mem_mb=local"]),
    ],
)
def test_an_option_does_not_end_the_cluster_mode(more, project, tmp_path):
    """Snakemake replaces a profile's list by the option, so the list must not be needed."""
    configure(project, gpus=["h200"], shapes=[{"M": 4, "N": [8, 9]}])
    words = [word.format(elsewhere=tmp_path) for word in more]
    printed = Runner(project)("-n", "--workflow-profile", "profiles/slurm", *words)
    assert re.findall(r"Group job (points_\w+) ", printed) == ["points_h200_1"]


class LoginNode(Runner):
    """Snakemake where Slurm's commands are stand-ins, which note what they are asked."""

    mode = ("--workflow-profile", "profiles/slurm")

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
    ("options", "memory"),
    [("", 16000), slow("--resources mem_mb=90000 --set-resources point:mem_mb=32000", 32000)],
)
def test_what_an_allocation_asks_for(options, memory, project):
    """Its points follow one another: their times add up, and nothing else."""
    variants = ["torch_softmax", "torch_naive"]
    shapes = [{"M": 4, "N": [8, 9]}]
    configure(project, gpus=["h200"], shapes=shapes, variants=variants, replicates=2)
    code, _ = LoginNode(project).run(*options.split(), "--", "rows")
    assert code, "such an sbatch refuses"
    asked = (project / "asked").read_text(encoding="utf-8")
    for words in ("-t 24 ", f"--mem {memory} ", "--cpus-per-task=4 ", "--gres=gpu:h200:1 "):
        assert words in asked
    assert "--gpus" not in asked


def test_the_profile_of_a_cluster_says_again_what_it_replaces():
    files = [ROOT / f"profiles/{name}/profile.yaml" for name in ("default", "slurm")]
    default, slurm = (yaml.safe_load(file.read_text(encoding="utf-8")) for file in files)
    for_one_machine = {"resources", "show-failed-logs"}
    assert {key: default[key] for key in default.keys() - for_one_machine}.items() <= slurm.items()
