"""The lock, the conda environments and the rules agree."""

import re

import yaml

from measure import ROOT
from tools import pins

CONDA = ["environment.yml", "workflow/envs/analysis.yml"]


def conda_pins(name):
    dependencies = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))["dependencies"]
    (pip,) = [entry["pip"] for entry in dependencies if isinstance(entry, dict)]
    return dict(line.split("==") for line in pip)


def test_what_is_generated_is_what_is_there():
    for path, text in pins.files().items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name} is out of date: run `make lock`"
        )


def test_every_direct_dependency_is_pinned_and_locked():
    locked = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    for name, requirements in pins.groups().items():
        for requirement in requirements:
            assert [pin.operator for pin in requirement.specifier] == ["=="]
            pinned = f"{requirement.name}{requirement.specifier}"
            assert pinned in locked or name in pins.OPTIONAL
    for name in CONDA:
        assert {"==".join(pin) for pin in conda_pins(name).items()} <= set(locked)
        assert not re.search(r"-r |-e ", (ROOT / name).read_text(encoding="utf-8"))


def test_what_is_optional_need_not_be_installed(monkeypatch):
    groups = pins.groups()
    assert groups.keys() >= pins.OPTIONAL
    absent = pins.Requirement("no-such-package==1.0")
    changed = groups | {name: [absent] for name in pins.OPTIONAL}
    monkeypatch.setattr(pins, "groups", lambda: changed)
    assert "no-such-package" not in "".join(pins.files().values())


def test_a_report_needs_no_torch():
    groups = pins.groups()
    names = pins.closure(groups["analysis"] + groups["workflow"]).keys()
    assert names >= {"snakemake", "pandas", "jinja2"}
    assert not names & {"torch", "triton", "cuda-core", "pytest"}


def test_only_jobs_that_measure_have_torch():
    assert {"torch", "triton", "numpy", "psutil", "nvidia-ml-py"} <= set(conda_pins(CONDA[0]))
    some = {"pandas", "seaborn", "torch", "triton"}
    assert some & set(conda_pins(CONDA[1])) == {"pandas", "seaborn"}


def test_every_rule_that_runs_something_names_an_environment_that_exists():
    seen = set()
    for path in sorted((ROOT / "workflow/rules").glob("*.smk")):
        for rule in re.split(r"^rule ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            if re.search(r"^ +(shell|script):", rule, re.MULTILINE):
                (name,) = re.findall(r'conda:\s+"(.+)"', rule)
                assert (path.parent / name).resolve().relative_to(ROOT).as_posix() in CONDA
                seen.add(rule.split(":")[0])
    assert seen >= {"point", "merge", "collect", "summary", "claims", "gpu_figures", "report"}
