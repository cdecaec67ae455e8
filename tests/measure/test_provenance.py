"""The state of the checkout: what git says."""

import os
import subprocess

import numpy

import kernels
from measure import ROOT, fingerprint, provenance, replicate, row

NOTHING = {"git_commit": None, "git_dirty": None}


def test_a_checkout_is_dirty_if_a_file_is_edited_but_for_recorded_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    recorded = tmp_path / "data/recorded/h200.csv"
    recorded.parent.mkdir(parents=True)
    for path in (tmp_path / "file", recorded):
        path.write_text("one\n", encoding="utf-8")
    git = "git", "-c", "user.name=a", "-c", "user.email=a@b"
    for words in (["init", "-q"], ["add", "--all"], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    recorded.write_text("two\n", encoding="utf-8")
    (tmp_path / "another").touch()  # not of the project
    clean = provenance.git_state()
    (tmp_path / "file").write_text("two\n", encoding="utf-8")
    assert (len(clean["git_commit"]), clean["git_dirty"]) == (40, False)
    assert provenance.git_state() == clean | {"git_dirty": True}


def test_the_commit_of_another_project_is_not_ours(tmp_path, monkeypatch):
    """Neither of one around this folder, nor of one that a hook of git names."""
    begin = "git init -q && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one"
    subprocess.run(["bash", "-c", begin], cwd=tmp_path, check=True)
    inner = tmp_path / "unpacked"
    inner.mkdir()
    monkeypatch.setattr(provenance, "ROOT", inner)
    assert provenance.git_state() == NOTHING
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    assert provenance.git_state() == NOTHING
    monkeypatch.setattr(provenance, "ROOT", ROOT)
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    head = subprocess.check_output(command, env=environment).decode().strip()
    assert provenance.git_state()["git_commit"] == head


def test_without_a_commit_a_checkout_or_git_nothing_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert provenance.git_state() == NOTHING
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert provenance.git_state() == NOTHING
    monkeypatch.setenv("PATH", "/nowhere")
    assert provenance.git_state() == NOTHING


def test_the_row_of_other_code_packages_or_switches_is_not_taken():
    current = fingerprint.fingerprint("torch_softmax", "softmax")
    first = dict.fromkeys(row.COLUMNS) | {"op": "softmax", "variant": "torch_softmax"}
    first |= {"gpu": "cpu", "status": "ok", "switches": provenance.switches(is_cpu=True)}
    assert replicate.first_replicate_to_reuse(first | {"fingerprint": current})
    assert replicate.first_replicate_to_reuse(first | {"fingerprint": f"{current}_2"})
    for change in ({"fingerprint": "7"}, {"fingerprint": current, "switches": "PYTORCH_JIT=0"}):
        assert replicate.first_replicate_to_reuse(first | change) is None


def test_a_row_names_the_versions_of_what_the_variant_imports(monkeypatch):
    monkeypatch.setattr(kernels, "packages", lambda _: {"math", "torch", "numpy"})
    fingerprint.peer_distributions.cache_clear()
    assert provenance.versions("any")["package_versions"] == f"numpy=={numpy.__version__}"
    fingerprint.peer_distributions.cache_clear()


def test_switches_are_those_of_torch_and_of_the_device_and_no_folders(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("PYTORCH_", "TORCH_", "CUDA_", "OMP_", "MKL_", "NVIDIA_")):
            monkeypatch.delenv(name)
    assert provenance.switches(is_cpu=True) == provenance.switches(is_cpu=False) == "none"
    variables = {"TORCH_HOME": "/a", "PYTORCH_VERSION": "2.13", "CUDA_VISIBLE_DEVICES": "0"}
    variables |= {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "TORCH_LOGS": "a b"}
    variables |= {"OMP_NUM_THREADS": "2", "CUDA_FORCE_PTX_JIT": "1"}
    variables |= {"NVIDIA_VISIBLE_DEVICES": "all"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    shared = "PYTORCH_NO_CUDA_MEMORY_CACHING=1 TORCH_LOGS='a b'"
    assert provenance.switches(is_cpu=True) == f"OMP_NUM_THREADS=2 {shared}"
    assert provenance.switches(is_cpu=False) == f"CUDA_FORCE_PTX_JIT=1 {shared}"
