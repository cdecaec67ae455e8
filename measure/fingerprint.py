"""What code made a row: hashes of sources, and the state of the checkout."""

import functools
import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import kernels

from .row import COLUMNS

ROOT = Path(__file__).resolve().parent.parent
# For git: all but rows that were recorded, which decide on nothing that is measured. Else nothing
# could be recorded after the first sweep before that is committed.
CODE = (".", ":!data/recorded")


@functools.cache
def measure_sha256() -> str:
    """Return the hash over what decides how a point is measured: code, and columns of the row."""
    code = kernels.digest((ROOT / "measure").rglob("*.py"))
    return hashlib.sha256("\n".join([code, *COLUMNS]).encode()).hexdigest()


def git_state() -> dict:
    """``git_commit`` and ``git_dirty`` of this checkout; empty outside a checkout."""
    return ask_git()()


def ask_git() -> Callable[[], dict]:
    """Begin to ask for ``git_state``; a function that waits for it."""
    try:
        edited = ("status", "--porcelain", "--untracked-files=no", "--", *CODE)
        asked = _git("rev-parse", "HEAD"), _git(*edited)
    except OSError:  # git is not installed
        asked = ()

    def state() -> dict:
        said = [_said(git) for git in asked]
        if not said or None in said:
            return {"git_commit": None, "git_dirty": None}
        return {"git_commit": said[0], "git_dirty": bool(said[1])}

    return state


def _git(*words: str) -> subprocess.Popen:
    # --no-optional-locks: points must not take the index's lock from whoever commits meanwhile.
    command = ["git", "--no-optional-locks", "-C", str(ROOT), *words]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _said(git: subprocess.Popen) -> str | None:
    """What it says; None where it fails, or says nothing for a minute."""
    try:
        said, _ = git.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        git.kill()
        said, _ = git.communicate()
    return None if git.returncode else said.strip()
