"""Find and load variants.

A variant is a Python file in or below a folder of FAMILIES whose name does not begin with an
underscore; there is no list to edit. Its stem is the variant's name, unique over all families. The
file defines one or more functions named after operations, and may define ``unsupported(x)``.

A file may offer configs of its kernel, such as block sizes, by ``CONFIGS = ("w4", "w8")`` and
``with_config(config)``, which returns an object with the same functions. A config is a variant
named ``file__config``. A file with ``ON_REQUEST = True`` is only measured if it is named.

A file from elsewhere may be a variant, too; see ``add_variant``. It imports this project as
``kernels``, and the modules beside it by name, with or without a leading dot.
"""

import difflib
import functools
import hashlib
import importlib
import os
import re
import sys
import types
from collections.abc import Iterable
from pathlib import Path

import operations

from ..contract import CONFIG_MARK, split_config
from . import source_scan
from .source_scan import KernelFileError
from .variant import Variant, why_unsupported

PACKAGE = __package__.partition(".")[0]
KERNELS = Path(__file__).parents[1]
PEERS = "peers"  # family of other projects' kernels, which come with optional packages
TORCH_VARIANTS = "torch_softmax", "torch_logits"  # variants that call torch's own functions
FAMILIES = ("published", "frontier", "peers", "contributed")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")  # names are parts of a row's path
MAX_NAME = 100  # characters; a file name has at most 255 bytes

_added: dict[str, Path] = {}  # name -> file from elsewhere


def names(op: str | None = None) -> list[str]:
    """Return the sorted names of the families' variants; with ``op``, of those that define it."""
    return [name for name in sorted(_files()) if op is None or op in ops(name)]


@functools.cache
def _files() -> dict[str, Path]:
    """Return name -> file. Raises KernelFileError for duplicate and for bad names."""
    files = {}
    for path in sorted(p for family in FAMILIES for p in (KERNELS / family).rglob("*.py")):
        # skip editors' back-up files, whose names cannot be those of modules
        if path.stem.startswith("_") or not path.stem.isidentifier() or not path.is_file():
            continue
        if bad := why_bad_name(path.stem):
            raise KernelFileError(f"{path}: {bad}; rename the file")
        if path.stem in files:
            raise KernelFileError(
                f"two kernels are named {path.stem!r}: {files[path.stem]} and {path}; rename one"
            )
        files[path.stem] = path
    return files


def why_bad_name(name: str) -> str | None:
    """Return why this cannot be a variant's name, or None if it can."""
    if not NAME.fullmatch(name):
        return "a name has letters, digits and underscores, and begins with a letter"
    if len(name) > MAX_NAME:
        return f"a name has at most {MAX_NAME} letters, because files carry it"
    if CONFIG_MARK in name:
        return "two underscores stand between a kernel and its config"
    return None


@functools.cache
def add_variant(file: str | Path) -> str:
    """Make a file from elsewhere a variant of this process; return its name, the file's stem.

    Raises KernelFileError for a missing file, for a name that is not allowed or is taken, and for a
    constant of the wrong type.
    """
    path = Path(os.path.abspath(file))  # does not resolve symlinks: modules beside it are imported
    name, why = path.stem, None
    if not path.exists():
        why = "no such file; name a .py file with a function of an operation's name"
    elif path.suffix != ".py" or not path.is_file():
        why = "not a Python file; name a .py file with a function of an operation's name"
    elif bad := why_bad_name(name):
        why = f"{bad}; rename the file"
    elif _added.get(name, path) != path:
        why = f"{str(_added[name])!r} has the same name; rename one of them"
    elif name in _files():
        why = f"the project has a variant {name!r}, too; rename the file, or leave it out"
    if why:
        raise KernelFileError(f"kernel {str(file)!r}: {why}")
    for constant in ("CONFIGS", "ON_REQUEST"):
        source_scan.literal(path, constant)
    _added[name] = path
    return name


def family(name: str) -> str:
    """Return which of FAMILIES a variant of the project belongs to."""
    return variant_file(name).relative_to(KERNELS).parts[0]


def default_variants(op: str, added: Iterable[str] = ()) -> list[str]:
    """Return the variants that ``variants: all`` stands for, including ``added`` ones."""
    candidates = [*names(op), *(name for name in added if op in ops(name))]
    return [
        name for name in candidates if not source_scan.literal(variant_file(name), "ON_REQUEST")
    ]


def torch_variant(op: str) -> str:
    """Return the variant that calls torch's function for an operation; torch_softmax if none."""
    candidates = (name for name in (*TORCH_VARIANTS, f"torch_{op}") if name in names(op))
    return next(candidates, TORCH_VARIANTS[0])


def rivals(op: str, added: Iterable[str] = ()) -> list[str]:
    """Return the variants that ``variants: rivals`` stands for: what a user might choose.

    They are ``added`` ones, torch's own, this project's, contributed ones and all peers, but not
    the kernels of articles and tutorials.
    """
    torch = {*TORCH_VARIANTS, f"torch_{op}"}
    default, project = default_variants(op, added), set(_files())
    own = [n for n in default if n in project and (n in torch or family(n) != "published")]
    peers = [name for name in names(op) if family(name) == PEERS]
    return list(dict.fromkeys([*(n for n in default if n not in project), *own, *peers]))


def configs(name: str) -> tuple[str, ...]:
    """Return the configs that a variant's file offers, read from its text."""
    return source_scan.literal(variant_file(name), "CONFIGS") or ()


def variant_file(name: str) -> Path:
    """Return the file of a variant or a config. Raises KeyError, which suggests similar names."""
    files, (stem, config) = _files() | _added, split_config(name)
    stems = sorted(_files())
    if stem in files:
        if not config or config in configs(stem):
            return files[stem]
        stems = [f"{stem}{CONFIG_MARK}{config}" for config in configs(stem)] or [stem]
    near = difflib.get_close_matches(name, stems, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(stems)}"
    raise KeyError(f"unknown variant {name!r}; {hint}")


def load(name: str) -> Variant:
    """Import a variant.

    Raises KeyError like ``variant_file``, ImportError if a package that the variant needs is not
    installed, TypeError if its file computes no operation, and whatever its import raises.
    """
    path, (stem, config) = variant_file(name), split_config(name)
    if stem in _added:
        module = _load_added(path)
    else:
        parts = path.relative_to(KERNELS).with_suffix("").parts
        module = importlib.import_module(".".join((PACKAGE, *parts)))
    source = module.with_config(config) if config else module
    if stem in _added and not any(callable(getattr(source, op, None)) for op in operations.names()):
        raise TypeError(f"{path} defines no function of these: {_signatures()}")
    own = getattr(source, "unsupported", None)

    def unsupported(x) -> str | None:
        return why_unsupported(x) or (own(x) if own else None)

    return Variant(name, source, unsupported)


def _load_added(path: Path) -> types.ModuleType:
    """Import an added file. Raises what its import raises."""
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)  # last, so that no module there hides an installed package
    package = f"_external_{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    if package not in sys.modules:
        sys.modules[package] = types.ModuleType(package)
        sys.modules[package].__path__ = [folder]  # imports that begin with a dot need it
    return importlib.import_module(f"{package}.{path.stem}")


@functools.cache
def ops(name: str) -> frozenset[str]:
    """Return the operations that a variant's file computes, read from its text.

    If it defines none, returns all, so that the variant's row says what is wrong.
    """
    every = operations.names()
    return source_scan.defined_names(variant_file(name), every) or frozenset(every)


def _signatures() -> str:
    """Return the functions of all operations, as "softmax(x, out=None), …"."""
    every = map(operations.load, operations.names())
    reads = (
        (operation.name, ", ".join(operand.name for operand in operation.inputs))
        for operation in every
    )
    return ", ".join(f"{name}({inputs}, out=None)" for name, inputs in reads)
