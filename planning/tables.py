"""The recorded and published tables of the project, their GPUs, and hashes of what reads them."""

import functools
import hashlib
from collections.abc import Collection, Iterable
from pathlib import Path

import yaml

import kernels
from kernels.registry import source_scan

SOURCES = "sources.yaml"
DATA = {".js", ".css", ".j2", ".yaml"}  # beside the code of analysis/


def recorded_tables(measured: Collection[str], folder: Path) -> list[Path]:
    """Return the recorded tables of the GPUs that this sweep does not measure."""
    return sorted(path for path in folder.glob("*/*.csv") if path.parent.name not in measured)


def gpus(recorded: Iterable[Path], published: Path) -> list[str]:
    """Return the GPUs of recorded tables, and of those that sources.yaml in `published` names."""
    sources = yaml.safe_load((published / SOURCES).read_text(encoding="utf-8")).values()
    return sorted({path.parent.name for path in recorded} | {source["gpu"] for source in sources})


@functools.cache
def analysis_sha256(root: Path, modules: tuple[str, ...]) -> str:
    """Return the hash over what modules of analysis/ load; when it changes, a rule runs again.

    It covers the code that they import, the templates and tables beside that code, the columns of a
    row, and the rules themselves with their script. `root` is the project's folder.
    """
    folder = root.absolute() / "analysis"
    code = {used for name in modules for used in kernels.loaded_files(folder / f"{name}.py")}
    subfolders = {path.parent for path in code} - {folder}
    data = {p for place in subfolders if place.is_relative_to(folder) for p in place.iterdir()}
    data = {path for path in data if path.suffix in DATA}
    workflow = folder.parent / "workflow"
    rules = {workflow / "rules" / "analysis.smk", workflow / "scripts" / "merge.sh"}
    fixed = {folder / "__main__.py", folder.parent / "measure" / "row.csv", *rules}
    return kernels.code_sha256(code | data | fixed)


@functools.cache
def docstrings_sha256() -> str:
    """Return the hash over the docstrings of kernels, which the report shows."""
    files = map(kernels.variant_file, kernels.names())
    return hashlib.sha256("\0".join(map(source_scan.docstring, files)).encode()).hexdigest()
