"""What is measured: one file per row-softmax kernel.

A variant is a file in this folder whose name does not begin with an underscore. It defines
``softmax(x, out=None)`` for a matrix ``x`` of shape (M, N), and, where it has limits of its own,
``unsupported(x)``; it may define ``log_softmax(x, out=None)`` too. There is no list to edit: a new
file is a new variant.

This package imports neither torch nor triton until a variant is loaded, so that a workflow
can be planned on a machine that has neither.
"""

import ast
import difflib
import functools
import hashlib
import importlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Variant:
    """One way to compute a row softmax.

    ``softmax(x, out=None)``: x of shape (M, N), any row stride, unit column stride, dtype float32,
    float16 or bfloat16; arithmetic in float32, result in x's dtype; returns ``out``, or a new
    tensor where none was given. ``log_softmax(x, out=None)``: the same for the logarithm of the
    softmax; None where the variant has none. ``unsupported(x)``: None, or one sentence saying why
    not; what it takes it takes with fewer rows, and with rows that lie apart, too. To ask it first,
    and to give an ``out`` of x's shape, dtype and device with unit column stride, is up to the
    caller.
    """

    name: str
    module: ModuleType
    softmax: Callable
    log_softmax: Callable | None
    unsupported: Callable

    def function(self, op: str) -> Callable:
        """``softmax`` or ``log_softmax``. Raises NotImplementedError where the variant has none."""
        found = {"softmax": self.softmax, "log_softmax": self.log_softmax}.get(op)
        if found is None:
            raise NotImplementedError(f"{self.name} has no {op}")
        return found


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

    return Variant(name, module, softmax, getattr(module, "log_softmax", None), unsupported)


@functools.cache
def sources(name: str) -> tuple[Path, ...]:
    """The variant's file and every file of this folder that it uses, directly or not.

    Modules that it imports, CUDA sources in cuda/ that it names, headers that these include; read
    from the text, without running it. Names a kernel's identity: when one of these files changes,
    so may its time.
    """
    check_name(name)
    found, todo = set(), [_FOLDER / f"{name}.py"]
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += _local_imports(path) if path.suffix == ".py" else _includes(path)
    return tuple(sorted(found))


@functools.cache
def sha256(name: str) -> str:
    """Hash over ``sources(name)``, names and contents."""
    return digest(sources(name), _FOLDER)


def digest(paths: Iterable[Path], base: Path) -> str:
    """SHA-256 over files: their paths below ``base`` and their contents, in the order given."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.relative_to(base).as_posix().encode() + b"\0")
        found.update(path.read_bytes() + b"\0")
    return found.hexdigest()


@functools.cache
def packages(name: str) -> frozenset[str]:
    """Top-level packages that the variant's sources import, e.g. {'torch', 'triton'}."""
    modules = (m for path in sources(name) if path.suffix == ".py" for m in _imports(path))
    return frozenset(module.split(".")[0] for module in modules)


def _local_imports(path: Path) -> list[Path]:
    stems = {m.split(".")[1] for m in _imports(path) if m.startswith(f"{__name__}.")}
    modules = [p for stem in stems if (p := _FOLDER / f"{stem}.py").is_file()]
    return modules + [p for name in _cuda_sources(path) if (p := _FOLDER / "cuda" / name).is_file()]


def _includes(path: Path) -> list[Path]:
    """Files beside a CUDA source that it includes."""
    names = re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE)
    return [p for name in names if (p := path.parent / name).is_file()]


@functools.cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    try:
        return tuple(ast.walk(ast.parse(path.read_bytes(), filename=str(path))))
    except (SyntaxError, ValueError):
        return ()  # loading it will say so, where that costs its own row only


def _cuda_sources(path: Path) -> set[str]:
    """Every text in a Python file that ends as a CUDA source does."""
    texts = (node.value for node in _nodes(path) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str) and text.endswith(".cu")}


@functools.cache
def _imports(path: Path) -> frozenset[str]:
    """Full names of what a file imports; of a from-import, with and without the imported name."""
    found = set()
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = ([__name__] if node.level == 1 else []) + ([node.module] if node.module else [])
            base = ".".join(parts)
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return frozenset(found)
