"""What is measured: one file per row-softmax kernel.

A variant is a file in this folder whose name does not begin with an underscore. It defines
``softmax(x, out=None)`` for a matrix ``x`` of shape (M, N), and, where it has limits of its own,
``unsupported(x)``. There is no list to edit: a new file is a new variant.

This package imports neither torch nor triton until a variant is loaded, so that a workflow
can be planned on a machine that has neither.
"""

import ast
import difflib
import functools
import hashlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Variant:
    """One way to compute a row softmax.

    ``softmax(x, out=None)``: x of shape (M, N), any row stride, unit column stride, dtype float32,
    float16 or bfloat16; arithmetic in float32, result in x's dtype; returns ``out``, or a new
    tensor where none was given. ``unsupported(x)``: None, or one sentence saying why not.
    """

    name: str
    module: ModuleType
    softmax: Callable
    unsupported: Callable


def names() -> list[str]:
    """Every variant, sorted."""
    return list(_names())


@functools.cache
def _names() -> tuple[str, ...]:
    # Editors leave files of their own beside the ones they edit: a variant is a module's name.
    files = (p for p in _FOLDER.glob("*.py") if p.stem.isidentifier() and p.is_file())
    return tuple(sorted(p.stem for p in files if not p.stem.startswith("_")))


def check_name(name: str) -> None:
    """Raise KeyError, naming the nearest variants, unless ``name`` is one."""
    if name in _names():
        return
    near = difflib.get_close_matches(name, _names(), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(_names())}"
    raise KeyError(f"unknown variant {name!r}; {hint}")


def load(name: str) -> Variant:
    """Import a variant.

    Raises KeyError for an unknown name, ImportError when a package that it needs is absent,
    TypeError when its file defines no ``softmax``.
    """
    check_name(name)
    module = importlib.import_module(f"{__name__}.{name}")
    softmax = getattr(module, "softmax", None)
    if not callable(softmax):
        raise TypeError(f"kernels/{name}.py defines no function softmax(x, out=None)")

    from . import _rows  # here, because it imports torch

    own = getattr(module, "unsupported", None)

    def unsupported(x) -> str | None:
        return _rows.problem(x) or (own(x) if own else None)

    return Variant(name, module, softmax, unsupported)


@functools.cache
def sources(name: str) -> tuple[Path, ...]:
    """The variant's file and every file of this folder that it imports, directly or not.

    Read from the import statements, without running them. Names a kernel's identity: when one
    of these files changes, so may its time.
    """
    check_name(name)
    found, todo = set(), [_FOLDER / f"{name}.py"]
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += _local_imports(path)
    return tuple(sorted(found))


@functools.cache
def sha256(name: str) -> str:
    """Hash over ``sources(name)``, names and contents."""
    digest = hashlib.sha256()
    for path in sources(name):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@functools.cache
def packages(name: str) -> frozenset[str]:
    """Top-level packages that the variant's sources import, e.g. {'torch', 'triton'}."""
    return frozenset(module.split(".")[0] for path in sources(name) for module in _imports(path))


def _local_imports(path: Path) -> list[Path]:
    stems = {m.split(".")[1] for m in _imports(path) if m.startswith(f"{__name__}.")}
    return [p for stem in stems if (p := _FOLDER / f"{stem}.py").is_file()]


@functools.cache
def _imports(path: Path) -> frozenset[str]:
    """Full names of what a file imports; of a from-import, with and without the imported name."""
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except (SyntaxError, ValueError):
        return frozenset()  # loading it will say so, where that costs its own row only
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = ([__name__] if node.level == 1 else []) + ([node.module] if node.module else [])
            base = ".".join(parts)
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return frozenset(found)
