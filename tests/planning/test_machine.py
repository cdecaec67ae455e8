"""One message names what a machine lacks to measure a sweep."""

import re

from planning import machine


def test_a_machine_says_what_it_lacks(monkeypatch):
    monkeypatch.setattr(machine.gpus, "visible", lambda: ["h200"])
    monkeypatch.setattr(machine, "missing_tool", lambda: None)
    assert machine.fault_of({"h200", "cpu"}) is None
    assert re.match(r"this machine cannot measure a100: it has h200\.", machine.fault_of({"a100"}))
    monkeypatch.setattr(machine.gpus, "visible", lambda: [])
    assert "it has no GPU" in machine.fault_of({"a100"})


def test_a_gpu_needs_a_compiler_and_headers(monkeypatch, tmp_path):
    monkeypatch.setattr(machine.gpus, "visible", lambda: ["h200"])
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "a C compiler" in machine.fault_of({"h200"})
    assert machine.fault_of({"cpu"}) is None
    (tmp_path / "gcc").write_text("#!/bin/sh\n")
    (tmp_path / "gcc").chmod(0o755)
    monkeypatch.setattr(machine.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    assert "python3-dev" in machine.fault_of({"h200"})
    (tmp_path / "Python.h").write_text("")
    assert machine.fault_of({"h200"}) is None
