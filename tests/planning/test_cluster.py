"""profiles/slurm without a cluster: what it asks for, and what is refused before it asks."""

import re
from types import SimpleNamespace

import pytest
import yaml

from measure.fingerprint import ROOT
from planning import cluster
from planning.config import ConfigError
from tests.workflow.runner import Runner, configure

TABLE = ["a100", "h200"]


def dry_run(folder, *options):
    """What a dry run through the profile prints, and its return code."""
    done = Runner(folder)("-n", "--workflow-profile", "profiles/slurm", *options)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("wanted", [["a100"], ["h200", "a100"], ["recorded"], ["recorded", "h200"]])
def test_gpus_of_the_table_are_fine(wanted):
    cluster.check(wanted, TABLE)


@pytest.mark.parametrize("wanted", [["auto"], ["cpu"], ["mi300"]])
def test_without_a_table_nothing_is_refused(wanted):
    cluster.check(wanted, [])


def test_the_table_comes_from_the_resources_of_the_points():
    raw = SimpleNamespace(raw="'a100 h200'")  # as Snakemake parses it
    assert cluster.table({"point": {cluster.TABLE: raw}}) == TABLE
    assert cluster.table({"point": {"mem_mb": 1}}) == cluster.table({}) == []


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (["a100", "h100"], "no line for 'h100'.*did you mean 'h200'"),
        (["cpu"], "no line for 'cpu'.*allowed: a100, h200"),
        (["auto"], r"for example 'gpus: \[a100, h200\]'"),
    ],
)
def test_a_gpu_that_the_table_lacks_is_refused(wanted, words):
    with pytest.raises(ConfigError, match=words):
        cluster.check(wanted, TABLE)


@pytest.mark.parametrize(("timeout_s", "minutes"), [(120, 3), (110, 2), (111, 3), (0.5, 1)])
def test_minutes_cover_the_time_out_and_what_comes_around_it(timeout_s, minutes):
    assert cluster.minutes(timeout_s) == minutes


def test_the_default_sweep_goes_out_in_groups_of_the_tables_size(project):
    configure(
        project, gpus=["a100", "h200"], shapes=[{"M": 4, "N": {"from": 1, "to": 40, "step": 1}}]
    )
    code, text = dry_run(project)
    assert code == 0, text
    groups = re.findall(r"Group job (point_\w+) ", text)
    # 160 points of each type, 60 to a group
    assert sorted(groups) == ["point_a100"] * 3 + ["point_h200"] * 3


@pytest.mark.parametrize(
    ("gpus", "words"), [(["h100"], "no line for 'h100'"), (["auto"], "for example 'gpus:")]
)
def test_a_dry_run_refuses_what_the_cluster_could_not_measure(project, gpus, words):
    configure(project, gpus=gpus)
    code, text = dry_run(project)
    assert code != 0
    assert words in text
    assert "Traceback" not in text


def test_a_word_that_the_table_does_not_know_is_named(project):
    file = project / "profiles/slurm/profile.yaml"
    file.write_text(file.read_text().replace('{gres: "gpu:a100:1"', "{partitoin: gpu"))
    configure(project, gpus=["a100"])
    code, text = dry_run(project)
    assert code != 0
    assert "the table's line for a100 has an unknown key: partitoin" in text


def test_what_the_profile_replaces_it_says_too():
    """The profile of a cluster takes the place of the default one, and adds nothing to it."""
    default, slurm = (
        yaml.safe_load((ROOT / f"profiles/{name}/profile.yaml").read_text())
        for name in ("default", "slurm")
    )
    for_one_machine = {"resources", "show-failed-logs"}
    shared = {key: value for key, value in default.items() if key not in for_one_machine}
    assert shared.items() <= slurm.items()
