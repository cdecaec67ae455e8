"""Variants from files outside the project.

The file's stem is the variant's name. The file imports this project as ``kernels``, and the modules
beside it by name, with or without a leading dot.
"""

import functools
import hashlib
import importlib.util
import os
import re
import sys
import types
from pathlib import Path

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")  # part of a row's path


class BadKernel(ValueError):
    """A file that cannot be a variant: says what was given, and what to do."""


_files: dict[str, Path] = {}


def why_bad_name(name: str) -> str | None:
    """Return None, or why this cannot be a variant's name."""
    if not NAME.fullmatch(name):
        return "a name has letters, digits and underscores, and begins with a letter"
    if "__" in name:
        return "two underscores stand between a kernel and its config"
    return None


@functools.cache
def add(given: str | Path) -> str:
    """Make a Python file a variant; return its name. Raises BadKernel."""
    path = Path(os.path.abspath(given))  # as named: a link's neighbours are those of the link
    if path.suffix != ".py" or not path.is_file():
        why = "no such file" if not path.exists() else "not a Python file"
        raise BadKernel(f"kernel {str(given)!r}: {why}; name a .py file that defines a softmax")
    name = path.stem
    if fault := why_bad_name(name):
        raise BadKernel(f"kernel {str(given)!r}: {fault}; rename the file")
    known = _files.get(name)
    if known and known != path:
        raise BadKernel(
            f"kernel {str(given)!r}: {str(known)!r} has the same name; rename one of them"
        )
    _files[name] = path
    return name


def find(name: str) -> Path | None:
    """Return the added file of this name."""
    return _files.get(name)


def load(path: Path) -> types.ModuleType:
    """Import an added file. Raises what its import raises."""
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)  # last: no file beside it hides an installed package
    package = f"_external_{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    if package not in sys.modules:
        sys.modules[package] = types.ModuleType(package)
        sys.modules[package].__path__ = [folder]  # for imports that begin with a dot
    full = f"{package}.{path.stem}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, path)
        module = sys.modules[full] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[full]
            raise
    return sys.modules[full]
