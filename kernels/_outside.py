"""Kernels from outside this folder: files that are named, and modules of installed packages.

A file lies anywhere; its stem is the variant's name. It imports this project as ``kernels``, and
what lies beside it by name, with or without a leading dot. A package names its modules in the entry
point group GROUP of its metadata, variant by variant.
"""

import functools
import hashlib
import importlib.machinery
import importlib.util
import os
import re
import sys
import types
from pathlib import Path
from typing import NamedTuple

from . import _sources

GROUP = "softmax_bench.kernels"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")  # part of a row's path


class BadKernel(ValueError):
    """A kernel from outside that cannot be a variant: what was given, and what to do."""


class Outside(NamedTuple):
    """Where a kernel from outside is."""

    path: Path
    root: Path  # where the names of its own modules begin
    module: str | None = None  # its name in its package; None for a file by itself

    def owns(self, top: str) -> bool:
        """Whether a top-level module is looked for below ``root``."""
        return top != __package__ and (self.module is None or top == self.module.split(".")[0])


_files: dict[str, Outside] = {}


def fault_of(name: str) -> str | None:
    """None, or why this cannot be a variant's name."""
    if not NAME.fullmatch(name):
        return "a name has letters, digits and underscores, and begins with a letter"
    if "__" in name:
        return "two underscores stand between a kernel and its form"
    return None


@functools.cache
def add(given: str | Path) -> str:
    """Make a Python file a variant; its name. Raises BadKernel."""
    path = Path(os.path.abspath(given))  # as named: a link's neighbours are those of the link
    if path.suffix != ".py" or not path.is_file():
        why = "no such file" if not path.exists() else "not a Python file"
        raise BadKernel(f"kernel {str(given)!r}: {why}; name a .py file that defines a softmax")
    name = path.stem
    if fault := fault_of(name):
        raise BadKernel(f"kernel {str(given)!r}: {fault}; rename the file")
    known = _files.get(name)
    if known and known.path != path:
        raise BadKernel(
            f"kernel {str(given)!r}: {str(known.path)!r} has the same name; rename one of them"
        )
    _files[name] = Outside(path, path.parent)
    return name


def find(name: str) -> Outside | None:
    """The kernel of this name: an added file, or else of a package. Raises BadKernel."""
    return _files.get(name) or (_of_package(name) if name in packaged() else None)


@functools.cache
def packaged() -> dict[str, str]:
    """Variant -> module, of the installed packages."""
    import importlib.metadata  # here: it would take every point's command 10 ms

    points = importlib.metadata.entry_points(group=GROUP)
    return {point.name: point.module for point in points if not fault_of(point.name)}


@functools.cache
def _of_package(name: str) -> Outside:
    module = packaged()[name]
    path = _located(module)
    if path is None:
        raise BadKernel(
            f"kernel {name!r}: an installed package says it is the module {module!r}, which is not "
            "there; install that package again"
        )
    depth = module.count(".") + (path.name == "__init__.py")
    return Outside(path, path.parents[depth], module)


def _located(module: str) -> Path | None:
    """The file of a module. Its packages are not imported: they may import torch."""
    top, *rest = module.split(".")
    spec = importlib.util.find_spec(top)
    for part in rest:
        if spec is None or spec.submodule_search_locations is None:
            return None
        below = spec.submodule_search_locations
        spec = importlib.machinery.PathFinder.find_spec(f"{spec.name}.{part}", below)
    return Path(spec.origin) if spec and spec.origin and spec.has_location else None


def load(name: str, kernel: Outside) -> types.ModuleType:
    """Import it. Raises what its import raises."""
    if kernel.module:
        return importlib.import_module(kernel.module)
    folder = str(kernel.root)
    if folder not in sys.path:
        sys.path.append(folder)  # last: no file beside it hides an installed package
    package = f"_outside_{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    if package not in sys.modules:
        sys.modules[package] = types.ModuleType(package)
        sys.modules[package].__path__ = [folder]  # for imports that begin with a dot
    full = f"{package}.{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, kernel.path)
        module = sys.modules[full] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[full]
            raise
    return sys.modules[full]


def own_modules(path: Path, kernel: Outside) -> list[Path]:
    """Files of the kernel's own that one of its files imports."""
    inside = path.parent.relative_to(kernel.root).parts
    found = []
    for dots, name in _sources.imports(path):
        if dots > len(inside) + 1 or not (dots or kernel.owns(name.partition(".")[0])):
            continue
        parts = [*inside[: len(inside) - dots + 1], *name.split(".")] if dots else name.split(".")
        for depth in range(1, len(parts) + 1):
            stem = kernel.root.joinpath(*parts[:depth])
            found += [stem.with_name(f"{stem.name}.py"), stem / "__init__.py"]
    return [file for file in found if file.is_file()]
