"""Find the files and packages that a variant uses, from its text, and hash the files."""

import functools
import sys
from pathlib import Path

from ..contract import FALLBACK_TUNING
from . import source_scan
from .discover import KERNELS, PACKAGE, file
from .source_hash import digest

INCLUDE = KERNELS / "cuda" / "include"


@functools.cache
def sources(name: str) -> tuple[Path, ...]:
    """Return the variant's file, and all files of the project or beside it on which it depends.

    These are Python modules, CUDA sources, headers and tables. A change of any of them may change
    the kernel's time.
    """
    files, todo = set(), [file(name)]
    root = todo[0].parent
    while todo:
        path = todo.pop()
        if path not in files:
            files.add(path)
            todo += _used_by(path, KERNELS if path.is_relative_to(KERNELS) else root)
    return tuple(sorted(files))


def _used_by(path: Path, root: Path) -> list[Path]:
    """Return the files that a file uses directly; ``root``: where its relative imports end."""
    candidates = [path.with_suffix(".cu"), *_modules(path, root)] if path.suffix == ".py" else []
    for name in source_scan.named_files(path):
        candidates += [*path.parent.glob(name), INCLUDE / name]
    return [candidate for candidate in candidates if candidate.is_file()]


def _modules(path: Path, root: Path) -> list[Path]:
    """Return the files that may hold what a Python file imports."""
    candidates = []
    for dots, name in source_scan.imports(path):
        top, parts = path.parents[dots - 1] if dots else root, name.split(".")
        if not dots and parts[0] == PACKAGE:
            top, parts = KERNELS, parts[1:]
        elif not dots and root == KERNELS:
            continue
        for depth in range(1, len(parts) + 1):
            stem = top.joinpath(*parts[:depth])
            candidates.append(stem.with_name(f"{stem.name}.py"))
            if not top.is_relative_to(KERNELS):  # no __init__.py of the project holds a kernel
                candidates.append(stem / "__init__.py")
    return candidates


@functools.cache
def sha256(name: str, gpu: str) -> str:
    """Return the hash over the code of ``sources(name)``, for a GPU of this slug.

    If the GPU has a tuning table, the hash leaves out all others but those of FALLBACK_TUNING.
    """
    table, files = KERNELS / "frontier" / "tuning" / f"{gpu}.csv", set(sources(name))
    if table in files:
        others = {path for path in files if path.parent == table.parent and path != table}
        names = [f"\n{name}," for name in FALLBACK_TUNING.values()]
        files -= {path for path in others if not any(n in path.read_text() for n in names)}
    return digest(files)


@functools.cache
def packages(name: str) -> frozenset[str]:
    """Return the top-level packages that the variant imports, such as {'torch', 'triton'}."""
    files = [path for path in sources(name) if path.suffix == ".py"]
    modules = {module for path in files for dots, module in source_scan.imports(path) if not dots}
    return frozenset(module.partition(".")[0] for module in modules)


def loaded_modules(name: str) -> list[str]:
    """Return the imported modules among ``sources(name)``."""
    files = {str(path) for path in sources(name)}
    modules = list(sys.modules.items())
    return [key for key, module in modules if getattr(module, "__file__", None) in files]
