"""The recorded and published tables of the project, their GPUs, and the hash of code."""

import functools
from collections.abc import Collection, Iterable
from pathlib import Path

import yaml

import kernels

SOURCES = "sources.yaml"
CODE = {".py", ".cu", ".cuh", ".js", ".css", ".j2", ".yaml"}


def recorded_tables(measured: Collection[str], folder: Path) -> list[Path]:
    """Return the recorded tables of the GPUs that this sweep does not measure."""
    return sorted(path for path in folder.glob("*/*.csv") if path.parent.name not in measured)


def gpus(recorded: Iterable[Path], published: Path) -> list[str]:
    """Return the GPUs of recorded tables, and of those that sources.yaml in `published` names."""
    sources = yaml.safe_load((published / SOURCES).read_text(encoding="utf-8")).values()
    return sorted({path.parent.name for path in recorded} | {each["gpu"] for each in sources})


@functools.cache
def code_sha256(folder: Path) -> str:
    """Return the hash over the code of a folder; when it changes, rules run again."""
    return kernels.code_sha256(path for path in folder.rglob("*") if path.suffix in CODE)
