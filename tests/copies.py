"""Copies of the project that a test may edit and run in."""

import shutil
from pathlib import Path

from measure import ROOT

NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "tests", "results")
CONTRIBUTED = ROOT / "kernels" / "contributed"


def _not_copied(folder: str, names: list[str]) -> set[str]:
    ignored = NOT_COPIED(folder, names)
    return ignored | ({*names} - {"__init__.py"} if Path(folder) == CONTRIBUTED else set())


def copy_project(target: Path, recorded: str = "*") -> Path:
    """Copy the project to `target`, without its tests, contributed kernels and results of runs.

    `recorded`: a pattern of the recorded sweeps to keep. A report draws all that there are.
    """
    copy = shutil.copytree(ROOT, target, ignore=_not_copied)
    for path in (copy / "data" / "recorded").glob("*/*"):
        if not path.match(f"{recorded}.*"):
            path.unlink()
    return copy
