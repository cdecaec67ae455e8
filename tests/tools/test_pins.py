"""The lock, the conda environments and the rules agree."""

import re

import yaml

from measure.fingerprint import ROOT
from tools import pins

CONDA = ["environment.yml", "workflow/envs/analysis.yml"]


def lock():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def conda_pins(name):
    given = yaml.safe_load((ROOT / name).read_text())["dependencies"]
    (pip,) = [entry["pip"] for entry in given if isinstance(entry, dict)]
    return dict(line.split("==") for line in pip)


def test_what_is_generated_is_what_is_there():
    for path, text in pins.files().items():
        assert path.read_text() == text, f"{path.name} is out of date: run `make lock`"


def test_every_direct_dependency_is_pinned_and_locked():
    for name, requirements in pins.groups().items():
        for requirement in requirements:
            (pin,) = requirement.specifier
            assert pin.operator == "=="
            locked = lock().get(requirement.name)
            assert locked == pin.version or (name in pins.OPTIONAL and locked is None)


def test_what_is_optional_need_not_be_installed(monkeypatch):
    given = pins.groups()
    assert given.keys() >= pins.OPTIONAL
    absent = pins.Requirement("no-such-package==1.0")
    changed = given | {name: [absent] for name in pins.OPTIONAL}
    monkeypatch.setattr(pins, "groups", lambda: changed)
    assert "no-such-package" not in "".join(pins.files().values())


def test_only_jobs_that_measure_have_torch_and_no_environment_refers_to_another_file():
    assert {"torch", "triton", "numpy", "psutil", "nvidia-ml-py"} <= set(conda_pins(CONDA[0]))
    light = set(conda_pins(CONDA[1]))
    assert {"pandas", "seaborn"} <= light
    assert not light & {"torch", "triton"}
    for name in CONDA:
        assert conda_pins(name).items() <= lock().items()
        assert not re.search(r"-r |-e ", (ROOT / name).read_text())


def test_every_rule_that_runs_something_names_an_environment_that_exists():
    seen = set()
    for path in sorted((ROOT / "workflow/rules").glob("*.smk")):
        for rule in re.split(r"^rule ", path.read_text(), flags=re.MULTILINE)[1:]:
            if re.search(r"^ +(shell|script):", rule, re.MULTILINE):
                (name,) = re.findall(r'conda:\s+"(.+)"', rule)
                assert (path.parent / name).resolve() in {ROOT / n for n in CONDA}
                seen.add(rule.split(":")[0])
    assert seen >= {"point", "merge", "collect", "summary", "claims", "figures_of_gpu", "report"}
