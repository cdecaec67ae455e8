"""Find the files and packages that a variant uses, from its text, and hash the files."""

import functools
import sys
from pathlib import Path

from . import source_scan
from .discover import KERNELS, PACKAGE, variant_file
from .source_hash import code_sha256

INCLUDE = KERNELS / "cuda" / "include"
# Packages of the project that import each other, and their folders.
PROJECT = {PACKAGE: KERNELS}
PROJECT |= {name: KERNELS.with_name(name) for name in ("measure", "operations", "analysis")}


@functools.cache
def source_files(name: str) -> tuple[Path, ...]:
    """Return the variant's file, and all files of the project or beside it on which it depends.

    They are Python modules, CUDA sources and headers; changing any may change the kernel's time.
    """
    return used_files(variant_file(name))


@functools.cache
def used_files(first: Path) -> tuple[Path, ...]:
    """Return a Python file, and all files of the project or beside it on which it depends.

    The project's ``__init__.py`` files are left out, because none of them holds a kernel.
    """
    return _reached(first, with_packages=False)


@functools.cache
def loaded_files(first: Path) -> tuple[Path, ...]:
    """Return ``used_files``, with each ``__init__.py`` that importing them runs, and its files."""
    return _reached(first, with_packages=True)


def _reached(first: Path, with_packages: bool) -> tuple[Path, ...]:
    files, todo = set(), {first}
    while todo:
        path = todo.pop()
        files.add(path)
        used = []
        if path.suffix == ".py":
            used = [path.with_suffix(".cu"), *_modules(path, first.parent, with_packages)]
        for named in source_scan.named_files(path):
            # the folders in which kernels/cuda/sources.py looks
            used += [path.parent / named, first.parent / named, INCLUDE / named]
        todo |= {file for file in used if file.is_file()} - files
    return tuple(sorted(files))


def _modules(path: Path, root: Path, with_packages: bool) -> list[Path]:
    """Return the candidate files of what a Python file imports; they need not exist.

    A file from elsewhere may import this project by name, and the modules in its folder ``root``.
    """
    in_project = any(path.is_relative_to(folder) for folder in PROJECT.values())
    candidates = [path.with_name("__init__.py")] if in_project and with_packages else []
    for dots, name in source_scan.imports(path):
        top, parts = path.parents[dots - 1] if dots else root, name.split(".")
        if not dots and parts[0] in PROJECT:
            top, parts = PROJECT[parts[0]], parts[1:]
            candidates += [top / "__init__.py"] if with_packages else []
        elif not dots and in_project:
            continue
        for depth in range(1, len(parts) + 1):
            stem = top.joinpath(*parts[:depth])
            candidates.append(stem.with_name(f"{stem.name}.py"))
            if with_packages or not any(top.is_relative_to(own) for own in PROJECT.values()):
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
