"""The state of the checkout: what git says."""

import subprocess

import pytest

from measure import fingerprint


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with one file, in place of this one."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "a")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@b")
    (tmp_path / "file").write_text("one\n")
    for words in (["init", "-q"], ["add", "file"], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(fingerprint, "ROOT", tmp_path)
    return tmp_path


def test_a_checkout_has_a_commit_and_is_clean_or_dirty(checkout):
    (checkout / "another").touch()  # not of the project
    clean = fingerprint.git_state()
    (checkout / "file").write_text("two\n")
    assert (len(clean["git_commit"]), clean["git_dirty"]) == (40, False)
    assert fingerprint.git_state() == clean | {"git_dirty": True}


def test_rows_that_were_recorded_edit_no_code(checkout):
    recorded = checkout / "data/recorded/h200.csv"
    recorded.parent.mkdir(parents=True)
    recorded.write_text("one\n")
    for words in (["add", "--all"], ["commit", "-q", "-m", "two"]):
        subprocess.run(["git", *words], cwd=checkout, check=True)
    recorded.write_text("two\n")
    assert fingerprint.git_state()["git_dirty"] is False


@pytest.mark.parametrize("path", [None, "/nowhere"])
def test_without_a_checkout_or_git_nothing_is_said(tmp_path, monkeypatch, path):
    monkeypatch.setattr(fingerprint, "ROOT", tmp_path)
    if path:
        monkeypatch.setenv("PATH", path)
    assert fingerprint.git_state() == {"git_commit": None, "git_dirty": None}
