"""What is measured: one file per row-softmax kernel.

A variant is a file in this folder whose name does not begin with an underscore. It defines one or
more of OPS, such as ``softmax(x, out=None)`` for a matrix ``x`` of shape (M, N), and, where it has
limits of its own, ``unsupported(x)``. There is no list to edit: a new file is a new variant.

A file may offer its kernel in several forms, sizes of blocks say, to find out which is fastest:
``FORMS = ("w4", "w8")`` and ``in_form(form)``, which returns an object with the same functions. A
form is a variant, too, named ``file__form``. ``ON_REQUEST = True`` in a file: it is measured where
its name is given, not as one of ``all``.

A kernel may also come from outside this folder: see ``add``, and ``_outside`` for packages.

``kernels.softmax(input, dim, dtype=None)`` and ``kernels.log_softmax`` are for use rather than for
measuring: torch's functions, any tensor, differentiable, computed by the fastest kernels here.

This package imports neither torch nor triton until a variant is loaded or one of these two is
used, so that a workflow can be planned on a machine that has neither.
"""

import difflib
import functools
import importlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from . import _outside, _source_hash, _sources, _uses
from ._outside import BadKernel as BadKernel
from ._source_hash import digest as digest

if TYPE_CHECKING:
    from ._dropin import log_softmax as log_softmax
    from ._dropin import softmax as softmax

# What a variant may compute, each a function of its module -> the matrices (M, N) that it reads: x,
# or y = softmax(x) or log_softmax(x) and the gradient g by y.
OPS = {
    "softmax": ("x",),
    "log_softmax": ("x",),
    "softmax_backward": ("g", "y"),
    "log_softmax_backward": ("g", "y"),
}
_FOLDER = Path(__file__).parent
FORM_MARK = "__"  # between a file's name and a form's
_DROP_INS = ("log_softmax", "softmax")


def __getattr__(name: str) -> Callable:
    if name not in _DROP_INS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _dropin  # here, because it imports torch

    globals().update({drop_in: getattr(_dropin, drop_in) for drop_in in _DROP_INS})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_DROP_INS})


@dataclass(frozen=True)
class Variant:
    """One way to compute row softmax, its logarithm, or the backward of either.

    ``softmax(x, out=None)``: x of shape (M, N), any row stride, unit column stride, dtype float32,
    float16 or bfloat16; arithmetic in float32, result in x's dtype; returns ``out``, or a new
    tensor where none was given. ``log_softmax(x, out=None)``: the same for the logarithm of the
    softmax. ``softmax_backward(g, y, out=None)``: y·(g - Σ g·y), the gradient by x, from the
    softmax y and the gradient g by y, all alike; ``log_softmax_backward(g, y, out=None)``:
    g - exp(y)·Σ g. None where the variant has none. ``unsupported(x)``: None, or one sentence
    saying why not, of a matrix like those that it would read; what it takes it takes with fewer
    rows, and with rows that lie apart, too. To ask it first, and to give an ``out`` of x's shape,
    dtype and device with unit column stride, is up to the caller.
    """

    name: str
    module: object  # the variant's file, or what its in_form gave
    unsupported: Callable
    softmax: Callable | None = None
    log_softmax: Callable | None = None
    softmax_backward: Callable | None = None
    log_softmax_backward: Callable | None = None

    def function(self, op: str) -> Callable:
        """The function for one of OPS. Raises NotImplementedError where the variant has none."""
        found = getattr(self, op) if op in OPS else None
        if found is None:
            raise NotImplementedError(f"{self.name} has no {op}")
        return found


def names(op: str | None = None) -> list[str]:
    """Every variant of this folder, sorted; with ``op``, those that have it, as ``ops`` knows."""
    return [name for name in _names() if op is None or op in ops(name)]


@functools.cache
def _names() -> tuple[str, ...]:
    # Editors leave files of their own beside the ones they edit: a variant is a module's name.
    files = (p for p in _FOLDER.glob("*.py") if p.stem.isidentifier() and p.is_file())
    return tuple(sorted(p.stem for p in files if not p.stem.startswith("_")))


def add(path: str | Path) -> str:
    """Make a file from outside this folder a variant of this process; its name, the file's stem.

    A relative path is looked up now. Raises BadKernel: no such file, a name that no variant may
    have, or one that another variant has.
    """
    name = _outside.add(path)
    for whose, theirs in (("the project", _names()), ("a package", _outside.packaged())):
        if name in theirs:
            raise BadKernel(
                f"kernel {str(path)!r}: {whose} has a variant {name!r}, too; rename the file, or "
                "leave it out to measure the other"
            )
    return name


def packaged() -> list[str]:
    """Variants of installed packages, sorted. Raises BadKernel where one has a name of ours."""
    found = sorted(_outside.packaged())
    for name in found:
        if name in _names():
            raise BadKernel(
                f"kernel {name!r}: an installed package brings it, from the module "
                f"{_outside.packaged()[name]!r}, but the project has a variant of that name; "
                "uninstall the package, or rename it there"
            )
    return found


def by_default(op: str, added: Iterable[str] = ()) -> list[str]:
    """What ``variants: all`` of a configuration means: every file with this op, but ON_REQUEST.

    ``added``: names of files from outside, which belong to it. A package's do not.
    """
    found = [*names(op), *(name for name in added if op in ops(name))]
    return [name for name in found if not _sources.constant(file(name), "ON_REQUEST")]


def forms(name: str) -> tuple[str, ...]:
    """The forms that a variant's file offers, () for most; read from its text."""
    return tuple(_sources.constant(file(name), "FORMS") or ())


def split(name: str) -> tuple[str, str]:
    """('file', 'form') of a variant's name; the form is '' for the variant itself."""
    stem, _, form = name.partition(FORM_MARK)
    return stem, form


def check_name(name: str) -> None:
    """Raise KeyError, naming the nearest variants, unless ``name`` is one."""
    known = _names()
    if name in known:
        return
    stem, form = split(name)
    if stem in known or _outside.find(stem):
        if not form or form in forms(stem):
            return
        known = [f"{stem}{FORM_MARK}{other}" for other in forms(stem)] or [stem]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}"
    raise KeyError(f"unknown variant {name!r}; {hint}")


def file(name: str) -> Path:
    """The file of a variant, or of a form. Raises KeyError as ``check_name``."""
    check_name(name)
    stem = split(name)[0]
    return _FOLDER / f"{stem}.py" if stem in _names() else _outside.find(stem).path


def load(name: str) -> Variant:
    """Import a variant.

    Raises KeyError for an unknown name, ImportError when a package that it needs is absent,
    TypeError when its file defines none of OPS.
    """
    path = file(name)
    stem, form = split(name)
    if stem in _names():
        module = importlib.import_module(f"{__name__}.{stem}")
    else:
        module = _outside.load(stem, _outside.find(stem))
    source = module.in_form(form) if form else module
    functions = {op: f for op in OPS if callable(f := getattr(source, op, None))}
    if not functions:
        known = ", ".join(f"{op}({', '.join(reads)}, out=None)" for op, reads in OPS.items())
        where = f"kernels/{stem}.py" if stem in _names() else path
        raise TypeError(f"{where} defines no function of these: {known}")

    from . import _rows  # here, because it imports torch

    own = getattr(source, "unsupported", None)

    def unsupported(x) -> str | None:
        return _rows.problem(x) or (own(x) if own else None)

    return Variant(name, source, unsupported, **functions)


@functools.cache
def ops(name: str) -> frozenset[str]:
    """Which of OPS a variant's file defines, read from its text, without running it.

    All of them where none is found there: what is wrong is for the variant's row to say.
    """
    return _sources.defined(file(name), OPS) or frozenset(OPS)


@functools.cache
def sources(name: str) -> tuple[Path, ...]:
    """The variant's file and every file of this folder, or beside it, that it uses.

    Directly or not: modules that it imports, CUDA sources that it names, headers that these
    include; read from the text, without running it. Names a kernel's identity: when one of these
    files changes, so may its time.
    """
    found, todo = set(), [file(name)]
    outside = None if todo[0].parent == _FOLDER else _outside.find(split(name)[0])
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += _uses.used_by(path, _FOLDER, outside)
    return tuple(sorted(found))


@functools.cache
def sha256(name: str, gpu: str) -> str:
    """Return the hash over the code of ``sources(name)``, as it runs on a GPU of this short name.

    Of the tuning tables, the GPU's own counts; all of them where it has none, since another one
    may stand in.
    """
    own = (_FOLDER / "tuning" / gpu).with_suffix(".csv")
    others = set(own.parent.glob("*.csv")) - {own} if own.is_file() else set()
    return digest(path for path in sources(name) if path not in others)


@functools.cache
def own_sha256() -> str:
    """Return the hash over what finds and loads variants: this file, and those that it imports."""
    modules = (sys.modules[__name__], _outside, _source_hash, _sources, _uses)
    return digest(Path(module.__file__) for module in modules)


@functools.cache
def packages(name: str) -> frozenset[str]:
    """Top-level packages that the variant's sources import, e.g. {'torch', 'triton'}."""
    return frozenset(i.top for i in _absolute_imports(name))


def outside_modules(name: str) -> frozenset[str]:
    """Names by which the variant's sources import what is neither Python's nor this project's.

    Of a from-import with and without the imported name, which may be a module or not.
    """
    ours = {*sys.stdlib_module_names, __name__}
    return frozenset(i.name for i in _absolute_imports(name) if i.top not in ours)


def _absolute_imports(name: str) -> Iterable[_sources.Import]:
    files = (path for path in sources(name) if path.suffix == ".py")
    return (i for path in files for i in _sources.imports(path) if not i.dots)


def loaded(name: str) -> list[str]:
    """Names of the modules that are imported of ``sources(name)``."""
    files = {str(path) for path in sources(name)}
    modules = list(sys.modules.items())
    return [key for key, module in modules if getattr(module, "__file__", None) in files]
