"""Operations, one file each: what is computed, and what counts as a right result.

Every file of this folder whose name does not begin with an underscore is an operation. It ends with
``OPERATION = Operation(...)``, which defines everything that measuring needs: inputs and outputs,
their values, the exact result with an error bound, the baseline and the roofline. There is no list
to edit. The file's name is the operation's, and a variant computes it by a function of that name.
``add`` makes a file from elsewhere an operation.

A variant's function takes the inputs and ``out=None``, and returns ``out`` or new tensors. If an
operation has several outputs, both the result and ``out`` are tuples.

This module does not import torch, so that a sweep can be planned without it; the files do.
"""

import functools
import importlib
import importlib.util
import math
import operator
import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import torch

FOLDER = Path(__file__).parent
NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")  # names are parts of a row's path
_added: dict[str, Path] = {}  # name -> file from elsewhere
ITEMSIZES = {"float32": 4, "int64": 8}  # bytes per element, for dtypes that an operand may fix
SHAPES = ("M", "N"), ("M",), ("N",)
DEFAULT = "softmax"  # operation of a point that names none
# Rooflines -> (matrices that they read, matrices that they write).
ROOFLINES = {"copy": (1, 1), "add": (2, 1), "read": (1, 0)}
MEETING_ROOFLINES = {"read_meet_write": (1, 1), "read_meet": (1, 0)}

# Errors of float32 arithmetic, from which the bounds of all operations are built.
ROUNDOFF = 2.0**-24  # half the distance from 1 to the next number
FAST_EXP = 4e-6  # relative error of the hardware's fast exp2, and of a sum of N of its results
ROUNDINGS = 8  # allowed round-offs in a few operations, and in the argument of exp
SMALLEST_NORMAL = 2.0**-126  # kernels may flush smaller numbers to 0


class OperationFileError(Exception):
    """Report what is wrong with a file that should be an operation."""


@dataclass(frozen=True)
class Operand:
    """Describe a tensor that a call reads or writes."""

    name: str
    shape: tuple[str, ...] = ("M", "N")  # one of SHAPES, where a point's matrix is (M, N)
    dtype: str | None = None  # torch's name, a key of ITEMSIZES; None: the point's dtype

    def __post_init__(self):
        """Raise OperationFileError for a shape or a dtype that measuring does not know."""
        if self.shape not in SHAPES or self.dtype not in (None, *ITEMSIZES):
            raise OperationFileError(
                f"operand {self.name!r} has shape {self.shape} and dtype {self.dtype!r}; allowed "
                f"shapes: {', '.join(map(str, SHAPES))}; dtypes: None (the point's), "
                f"{', '.join(ITEMSIZES)}"
            )

    def sizes(self, M: int, N: int) -> tuple[int, ...]:
        """Return the shape as numbers, for a matrix (M, N)."""
        return tuple({"M": M, "N": N}[size] for size in self.shape)

    def bytes(self, M: int, N: int, itemsize: int) -> int:
        """Return the operand's size in bytes; ``itemsize`` is that of the point's dtype."""
        return math.prod(self.sizes(M, N)) * ITEMSIZES.get(self.dtype, itemsize)

    @property
    def has_rows(self) -> bool:
        """Return whether the operand's first dimension is M."""
        return self.shape[0] == "M"

    @property
    def is_matrix(self) -> bool:
        """Return whether the operand is an (M, N) tensor of the point's dtype."""
        return self.shape == ("M", "N") and self.dtype is None


@dataclass(frozen=True)
class Output(Operand):
    """Describe a tensor that a call writes.

    ``row_terms(y)`` returns terms whose sum over each row is checked as well; None: no such check.
    """

    row_terms: "Callable[[torch.Tensor], torch.Tensor] | None" = None


class Exact(NamedTuple):
    """Hold an output in float64 with its error bound; all three tensors have the same shape."""

    y: "torch.Tensor"
    bound: "torch.Tensor"  # largest absolute error that float32 arithmetic may make
    scale: "torch.Tensor"  # relative errors are error / scale; infinite if they have no meaning


# The type of ``Operation.inputs_of``.
Inputs = tuple["torch.Tensor", ...]
InputsOf = Callable[["torch.Tensor", Callable[[Operand], "torch.Tensor"]], Inputs]


@dataclass(frozen=True)
class Operation:
    """Define an operation. All functions take and return tensors on any device.

    ``inputs_of(x, draw)`` returns the inputs of a call, for a matrix x (M, N) of the point's
    distribution. ``draw(operand)`` returns standard normal numbers of an operand's shape and dtype;
    for int64, indices of a row's elements, uniform on [0, N).
    ``undefined(x, draw)`` returns a description, and inputs with no finite result in some rows. x
    has rows of nothing but -inf, and rows with one infinity or NaN. None: use ``inputs_of``.
    ``special_rows(x, draw)`` returns further inputs by the name of what is special in some of their
    rows, from an x of normal numbers. Names contain no semicolon.
    ``exact(*inputs, dtype)`` returns the result, an ``Exact`` or a tuple of one for each output.
    The inputs are in float64, indices in int64; ``dtype`` is the point's. ``baseline(*inputs,
    out)`` is torch's own implementation, and writes to ``out``.
    """

    inputs: tuple[Operand, ...]
    inputs_of: InputsOf
    exact: Callable[..., Exact | tuple[Exact, ...]]
    baseline: Callable[..., object]
    aten: tuple[str, ...]  # torch's operators to which the baseline dispatches
    outputs: tuple[Output, ...] = (Output("y"),)
    baseline_variant: str = ""  # variant that calls the baseline; "": torch_ and the operation
    watched: tuple[str, ...] = ()  # torch's functions that `exact` and `baseline` call
    undefined: Callable[..., tuple[str, Inputs]] | None = None
    special_rows: "Callable[..., dict[str, Inputs]] | None" = None
    # The roofline moves the same bytes: "copy" one matrix, "add" two into a third, or "read" one.
    # It reads the first inputs that are matrices, and writes the first output that is one.
    roofline: str = "copy"
    # The roofline of few long rows, whose blocks must wait for each other before any of them can
    # write: "read_meet_write" or "read_meet". None: each element can be written at once.
    meeting_roofline: str | None = "read_meet_write"
    baseline_matrices: int = 0  # matrices of the point's dtype that a baseline call allocates
    baseline_float32_matrices: int = 0  # … and of float32
    name: str = ""  # the file's stem; ``load`` sets it

    def __post_init__(self):
        """Raise OperationFileError for an unknown roofline, or one with too few matrices."""
        fields = ("roofline", ROOFLINES), ("meeting_roofline", MEETING_ROOFLINES | {None: (0, 0)})
        has = [sum(o.is_matrix for o in part) for part in (self.inputs, self.outputs)]
        for field, allowed in fields:
            if (value := getattr(self, field)) not in allowed:
                names = ", ".join(map(repr, allowed))
                raise OperationFileError(f"{field} = {value!r}; allowed: {names}")
            if any(map(operator.lt, has, needed := allowed[value])):
                raise OperationFileError(
                    f"{field} = {value!r} reads {needed[0]} and writes {needed[1]} matrices (M, N) "
                    f"of the point's dtype; the operation has {has[0]} inputs and {has[1]} outputs "
                    "of this kind; choose another roofline"
                )

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Return the inputs, then the outputs."""
        return *self.inputs, *self.outputs

    def call_bytes(self, M: int, N: int, itemsize: int) -> int:
        """Return the bytes of a call's inputs and outputs, the minimum that a kernel moves."""
        return sum(operand.bytes(M, N, itemsize) for operand in self.operands)

    def sizes_and_dtype(self, tensors: Inputs) -> "tuple[int, int, torch.dtype]":
        """Return M, N and the point's dtype, from the inputs of a call or from all its tensors."""
        sizes, dtypes = {}, {}
        for operand, x in zip(self.operands, tensors, strict=False):
            sizes |= zip(operand.shape, x.shape, strict=True)
            dtypes[operand.dtype] = x.dtype
        return sizes["M"], sizes["N"], dtypes[None]

    def matrices(self, inputs: Inputs) -> Inputs:
        """Return the inputs that are matrices of the point's dtype; there is at least one."""
        pairs = zip(self.inputs, inputs, strict=True)
        return tuple(x for operand, x in pairs if operand.is_matrix)

    def exact_outputs(self, inputs: Inputs, dtype: "torch.dtype") -> tuple[Exact, ...]:
        """Return the exact results for inputs of any dtype, one for each output."""
        wide = (x.double() if x.is_floating_point() else x for x in inputs)
        return as_tuple(self.exact(*wide, dtype))


def as_tuple(out: object) -> tuple:
    """Return the outputs of a call as a tuple, even if there is only one."""
    return out if type(out) is tuple else (out,)


def as_out(outputs: tuple) -> object:
    """Return outputs in the form that a call takes: a tuple only if there are several."""
    return outputs if len(outputs) > 1 else outputs[0]


def rows_of(
    operands: Iterable[Operand],
    tensors: Iterable,
    copy_rows: Callable,
    copy_whole: Callable = lambda x: x.clone(),
) -> tuple:
    """Return, for each tensor, ``copy_rows(x)`` if the operand has rows, else ``copy_whole(x)``."""
    pairs = zip(operands, tensors, strict=True)
    return tuple((copy_rows if operand.has_rows else copy_whole)(x) for operand, x in pairs)


def names() -> tuple[str, ...]:
    """Return the sorted names of all operations, including added ones; no file is imported."""
    return tuple(sorted(_own().keys() | _added.keys()))


@functools.cache
def _own() -> dict[str, Path]:
    return {path.stem: path for path in FOLDER.glob("*.py") if not path.stem.startswith("_")}


def file(name: str) -> Path:
    """Return the file of an operation. Raises KeyError if there is none of this name."""
    files = _own() | _added
    if name not in files:
        raise KeyError(f"unknown operation {name!r}; there are: {', '.join(names())}")
    return files[name]


def add(source: str | Path) -> str:
    """Make a file from elsewhere an operation of this process; return its name, the file's stem.

    The file may import modules beside it by name. Raises OperationFileError for a missing file, and
    for a name that is not allowed or is taken.
    """
    path, why = Path(os.path.abspath(source)), None
    if not path.is_file() or path.suffix != ".py":
        why = "no such Python file; name a .py file that ends with OPERATION = Operation(...)"
    elif not NAME.fullmatch(path.stem):
        why = "a name has lower-case letters, digits and underscores, and begins with a letter"
    elif path.stem in _own() or _added.get(path.stem, path) != path:
        why = f"there is another operation {path.stem!r}; rename the file"
    if why:
        raise OperationFileError(f"operation {str(source)!r}: {why}")
    _added[path.stem] = path
    return path.stem


@functools.cache
def load(name: str) -> Operation:
    """Import an operation.

    Raises KeyError if there is none of this name, OperationFileError if its file defines none, and
    what its import raises.
    """
    path = file(name)
    if name in _added:
        if (folder := str(path.parent)) not in sys.path:
            sys.path.append(folder)  # last, so that no module there hides an installed package
        spec = importlib.util.spec_from_file_location(f"{__name__}.{name}", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(f"{__name__}.{name}")
    operation = getattr(module, "OPERATION", None)
    if not isinstance(operation, Operation):
        raise OperationFileError(f"{path} defines no OPERATION = Operation(...)")
    variant = operation.baseline_variant or f"torch_{name}"
    return replace(operation, name=name, baseline_variant=variant)
