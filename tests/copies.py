"""Copies of the project that a test may edit and run in."""

import shutil
from pathlib import Path

from measure import ROOT


def copy_project(target: Path, recorded: str = "*") -> Path:
    """Copy the project to `target`, without its tests and without results of runs.

    `recorded`: a pattern of the recorded sweeps to keep. A report draws all that there are.
    """
    copy = shutil.copytree(ROOT, target, ignore=_not_copied)
    for path in (copy / "data" / "recorded").glob("*/*"):
        if not path.match(f"{recorded}.*"):
            path.unlink()
    return copy


def _not_copied(folder: str, names: list[str]) -> set[str]:
    hidden = {name for name in names if name.startswith(".")}
    return hidden | {"__pycache__"} | ({"tests", "results"} if Path(folder) == ROOT else set())
