"""One message names what a machine lacks to measure a sweep."""

import pytest
from snakemake.exceptions import WorkflowError

from planning import machine


def test_a_gpu_that_is_not_here_is_named(monkeypatch):
    monkeypatch.setattr(machine, "missing_tool", lambda: None)
    monkeypatch.setattr(machine.gpus, "visible_slugs", lambda: ["h200"])
    machine.require_tools({"h200", "cpu"})
    for visible, words in (
        (["h200"], r"cannot measure a100: it has h200\."),
        ([], "it has no GPU"),
    ):
        monkeypatch.setattr(machine.gpus, "visible_slugs", lambda visible=visible: visible)
        with pytest.raises(WorkflowError, match=words):
            machine.require_tools({"a100"})


def test_a_gpu_needs_a_compiler_and_headers(monkeypatch, tmp_path):
    monkeypatch.setattr(machine.gpus, "visible_slugs", lambda: ["h200"])
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkflowError, match="a C compiler"):
        machine.require_tools({"h200"})
    machine.require_tools({"cpu"})
    (tmp_path / "gcc").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "gcc").chmod(0o755)
    monkeypatch.setattr(machine.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    with pytest.raises(WorkflowError, match="python3-dev"):
        machine.require_tools({"h200"})
    (tmp_path / "Python.h").write_text("", encoding="utf-8")
    machine.require_tools({"h200"})


def test_without_slurm_s_commands_nothing_waits_for_them(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(WorkflowError, match="no sbatch; call Snakemake on a login node"):
        machine.require_slurm()
