"""What code made a row: hashes of sources, and the state of the checkout."""

import functools
import subprocess
from pathlib import Path

import kernels

ROOT = Path(__file__).resolve().parent.parent
ROW_SCHEMA = ROOT / "workflow" / "schemas" / "row.csv"


def measure_files() -> list[Path]:
    """Every file that decides how a point is measured and written down."""
    return [*sorted((ROOT / "measure").glob("*.py")), ROW_SCHEMA]


@functools.cache
def measure_sha256() -> str:
    """Hash over ``measure_files()``, names and contents."""
    return kernels.digest(measure_files(), ROOT)


def git_state() -> dict:
    """``git_commit`` and ``git_dirty`` of this checkout; empty outside a checkout."""
    try:
        commit = _git("rev-parse", "HEAD")
        dirty = bool(_git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return {"git_commit": None, "git_dirty": None}
    return {"git_commit": commit, "git_dirty": dirty}


def _git(*words: str) -> str:
    # --no-optional-locks: points must not take the index's lock from whoever commits meanwhile.
    command = ["git", "--no-optional-locks", "-C", str(ROOT), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()
