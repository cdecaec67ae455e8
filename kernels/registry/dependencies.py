"""Find the files and packages that a variant uses, from its text, and hash the files."""

import functools
import sys
from pathlib import Path

from . import source_scan
from .discover import KERNELS, PACKAGE, variant_file
from .source_hash import code_sha256

INCLUDE = KERNELS / "cuda" / "include"


@functools.cache
def source_files(name: str) -> tuple[Path, ...]:
    """Return the variant's file, and all files of the project or beside it on which it depends.

    These are Python modules, CUDA sources and headers. A change of any of them may change the
    kernel's time.
    """
    return used_files(variant_file(name))


@functools.cache
def used_files(first: Path) -> tuple[Path, ...]:
    """Return a Python file, and all files of kernels/ or beside it on which it depends."""
    files, todo, root = set(), {first}, first.parent
    while todo:
        path = todo.pop()
        files.add(path)
        used = [path.with_suffix(".cu"), *_modules(path, root)] if path.suffix == ".py" else []
        for named in source_scan.named_files(path):
            used += [path.parent / named, INCLUDE / named]
        todo |= {each for each in used if each.is_file()} - files
    return tuple(sorted(files))


def _modules(path: Path, root: Path) -> list[Path]:
    """Return the files that may hold what a Python file imports.

    A file from elsewhere imports this project by name, and the modules in its folder ``root``.
    """
    candidates = []
    for dots, name in source_scan.imports(path):
        top, parts = path.parents[dots - 1] if dots else root, name.split(".")
        if not dots and parts[0] == PACKAGE:
            top, parts = KERNELS, parts[1:]
        elif not dots and path.is_relative_to(KERNELS):
            continue
        for depth in range(1, len(parts) + 1):
            stem = top.joinpath(*parts[:depth])
            candidates.append(stem.with_name(f"{stem.name}.py"))
            if not top.is_relative_to(KERNELS):  # no __init__.py of the project holds a kernel
                candidates.append(stem / "__init__.py")
    return candidates


@functools.cache
def kernel_sha256(name: str) -> str:
    """Return the hash over the code of ``source_files(name)``."""
    return code_sha256(source_files(name))


@functools.cache
def packages(name: str) -> frozenset[str]:
    """Return the top-level packages that the variant imports, such as {'torch', 'triton'}."""
    files = [path for path in source_files(name) if path.suffix == ".py"]
    modules = {module for path in files for dots, module in source_scan.imports(path) if not dots}
    return frozenset(module.partition(".")[0] for module in modules)


def loaded_modules(name: str) -> list[str]:
    """Return the imported modules among ``source_files(name)``."""
    files = {str(path) for path in source_files(name)}
    modules = list(sys.modules.items())
    return [key for key, module in modules if getattr(module, "__file__", None) in files]
