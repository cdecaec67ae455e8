"""What changes a row's fingerprint, and with it the row's path."""

import json
import subprocess
import sys

import pytest

import kernels
from measure import ROOT, fingerprint
from tests import copies
from tests.workflow.runner import environment

TWO = ("frontier", "triton_online")
ASK = "import json; from measure.fingerprint import fingerprint as of; "
ASK += f"print(json.dumps([of(variant, 'softmax') for variant in {TWO}]))"
# Files that a point loads beside its variant: a replaced text, and whose fingerprint it changes.
EDITS = [
    ("kernels/cuda/launch.py", "def _blocks(", "def _blocks(edited=0, *, ", TWO),
    (
        "kernels/contract.py",
        "def max_cluster_blocks(",
        "EDITED = 1\n\n\ndef max_cluster_blocks(",
        TWO,
    ),
    ("kernels/registry/discover.py", "def load(", "EDITED = 1\n\n\ndef load(", TWO),
    ("kernels/cuda/include/vec.cuh", "#pragma once", "#pragma once\n#define EDITED", TWO),
    ("kernels/cuda/include/cluster.cuh", "#pragma once", "#pragma once\nint edited;", TWO[:1]),
    ("operations/softmax.py", "import torch", "import torch, math", TWO),
    ("measure/row.csv", "status,outcome,str,,ok ", "status,outcome,str,,fine ok ", TWO),
    ("operations/log_softmax.py", "import torch", "import torch, math", ()),
    ("measure/clock/graph.py", '"""', '"""Mended. ', ()),
    ("measure/process/profile.py", "CALLS_BEFORE = 2", "CALLS_BEFORE = 3", ()),
    ("measure/row.csv", "outcome of the point", "result of the point", ()),
]


@pytest.fixture(scope="module")
def fingerprint_after(tmp_path_factory):
    """Return the fingerprints of TWO in a copy of the project, after an edit that is undone."""
    project = copies.copy_project(tmp_path_factory.mktemp("edited") / "project")

    def ask(path="Makefile", old="", new=""):
        file = project / path
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), encoding="utf-8")
        command = [sys.executable, "-c", ASK]
        env = environment() | {"PYTHONPATH": str(project)}
        printed = subprocess.run(command, cwd=project, env=env, check=True, capture_output=True)
        file.write_text(text, encoding="utf-8")
        return dict(zip(TWO, json.loads(printed.stdout), strict=True))

    return ask


def test_what_a_point_loads_counts_and_prose_does_not(fingerprint_after):
    before = fingerprint_after()
    assert len(set(before.values())) == 2
    for path, old, new, changed in EDITS:
        after = fingerprint_after(path, old, new)
        assert {name for name in TWO if after[name] != before[name]} == set(changed), path


LOADED = """
import json, sys
from measure.journal import Journal
from measure.pipeline import measure
from measure.point import Point
from pathlib import Path
point = Point("cpu", "float32", 4, 8, "triton_online", blocks=6)
measure(point, Journal(Path(sys.argv[1])))
print(json.dumps([m.__file__ for m in sys.modules.values() if getattr(m, "__file__", None)]))
"""


def test_every_file_of_the_project_that_a_point_imports_is_hashed(tmp_path):
    env = environment() | {"TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", LOADED, str(tmp_path)]
    printed = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True)
    loaded = {name for name in json.loads(printed.stdout) if name.startswith(f"{ROOT}/")}
    loaded = {name for name in loaded if ".venv" not in name}
    hashed = fingerprint.measuring_files(ROOT / "operations/softmax.py")
    hashed |= set(kernels.source_files("triton_online"))
    # the packages of the families are empty: no code of theirs is run
    empty = {str(path) for path in (ROOT / "kernels").rglob("__init__.py")}
    assert len(loaded) > 40
    assert loaded - set(map(str, hashed)) <= empty


def test_versions_are_those_of_the_installed_packages_or_else_of_the_pins(monkeypatch):
    installed = {"torch": "2.13.0+cu130", "triton": "3.7.1", "liger-kernel": "0.8"}
    monkeypatch.setattr(fingerprint, "installed_version", lambda name: installed.get(name, ""))
    monkeypatch.setattr(fingerprint, "_pins", lambda: {"torch": "2.13.0", "cuda-core": "1.2.2"})

    def read(variant):
        fingerprint.versions.cache_clear()
        return fingerprint.versions(variant)

    assert read("torch_naive")["cuda-core"] == "", "a package that is absent where torch is"
    assert read("peer_liger")["liger-kernel"] == "0.8"
    installed.clear()
    assert read("peer_liger")["torch"] == "2.13.0"
    assert read("peer_liger")["cuda-core"] == "1.2.2"
    monkeypatch.undo()
    fingerprint.versions.cache_clear()


def test_another_version_is_another_fingerprint(monkeypatch):
    computed = fingerprint.fingerprint.__wrapped__
    before = computed("peer_liger", "softmax"), computed("torch_softmax", "softmax")
    versions = fingerprint.versions
    for name, changed in (("torch", (True, True)), ("liger-kernel", (True, False))):
        edited = {name: "9.9"}
        monkeypatch.setattr(
            fingerprint,
            "versions",
            lambda v, e=edited: {k: e.get(k, old) for k, old in versions(v).items()},
        )
        after = computed("peer_liger", "softmax"), computed("torch_softmax", "softmax")
        assert tuple(a != b for a, b in zip(before, after, strict=True)) == changed
