"""Let torch's own functions run this package's kernels: ``replace_torch``.

Whoever calls them, torch's softmax, log_softmax and logsumexp end in five operators of its CUDA
backend. ``torch.library`` lets this package override these. The override is below autograd,
autocast, torch.func and CUDA graphs, which therefore work as before. Calls that the kernels here do
not support go on to torch's.
Host: torch calls into Python each time, which takes 2 µs (measured on a CPU with torch 2.13).
"""

import functools
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from ..logits import RowTensors
from .eligible import takes, torch_private
from .functions import FUNCTIONS
from .library_function import LibraryFunction
from .logits import rows
from .logits.api import LOGSUMEXP
from .overlapping import Overlapping

BACKEND = "CUDA"
OPERATORS = [part.aten for function in FUNCTIONS for part in (function, function.gradient)]

_active: list["Replacement"] = []
_library: torch.library.Library | None = None
_inductor_calls = False  # whether Inductor has been told to call the kernels
_decompositions: dict = {}  # Inductor's entries, removed as long as it calls the kernels


class Replacement(Overlapping):
    """Keep torch's functions replaced until ``undo()``, or the end of the ``with`` statement."""

    _active = _active

    def __init__(self, inductor: bool):
        self.inductor = inductor
        super().__init__()

    def _apply(self) -> None:
        _apply()


def replace_torch(*, inductor: bool = False) -> Replacement:
    """Let torch.softmax, log_softmax, logsumexp and their callers run this package's kernels.

    Returns an object with ``undo()``, usable as a context manager. Tensors on other devices, and
    machines without an NVIDIA GPU, are unaffected.

    torch.compile's Inductor generates its own code for softmax and fuses it with neighbouring
    operations. ``inductor=True`` makes it call the kernels, too, and recompiles compiled functions.

    Raises RuntimeError if torch is older than 2.9, in which an overridden kernel cannot be called,
    and for ``inductor=True`` if this version of Inductor lacks the decompositions to remove.
    """
    if not hasattr(torch.library, "get_kernel"):
        raise RuntimeError(f"torch {torch.__version__} is too old; replace_torch needs torch 2.9")
    if inductor and not _of_inductor():
        raise RuntimeError(f"Inductor of torch {torch.__version__} is unknown; use inductor=False")
    return Replacement(inductor)


replace_torch.__module__ = __package__.partition(".")[0]  # the public name


def _apply() -> None:
    """Register or unregister the overrides, as the active replacements ask."""
    global _library, _inductor_calls
    if not _active:
        _library = None  # torch drops the registrations together with the object
    elif _library is None and (torch.version.cuda or BACKEND != "CUDA"):
        _library = _register()
    inductor = any(replacement.inductor for replacement in _active)
    if inductor != _inductor_calls:
        _tell_inductor(inductor)
        _inductor_calls = inductor


def _register() -> torch.library.Library:
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():  # torch warns that it has kernels for these operators already
        warnings.filterwarnings("ignore", "(?s).*Overriding a previously registered kernel")
        for function in FUNCTIONS:
            for operation, ours in ((function, _forward), (function.gradient, _backward)):
                fallback = torch.library.get_kernel(f"aten::{operation.aten}", BACKEND).call_boxed
                ours = functools.partial(ours, operation, fallback)
                library.impl(operation.aten, ours, BACKEND, with_keyset=True)
        fallback = torch.library.get_kernel("aten::logsumexp", BACKEND).call_boxed
        ours = functools.partial(_logsumexp, fallback)
        library.impl("logsumexp", ours, BACKEND, with_keyset=True)
    return library


def _logsumexp(fallback: Callable, keys, x: Tensor, dim: list[int], keepdim: bool = False):
    """Compute ``aten::logsumexp`` over rows; the backward stays torch's own."""
    is_last = len(dim) == 1 and x.dim() > 0 and dim[0] in (-1, x.dim() - 1)
    if not (is_last and x.shape[-1] and rows.takes(x)):
        return fallback(keys, x, dim, keepdim)
    y = rows.values(RowTensors(rows.as_rows(x)), LOGSUMEXP, keeps_sums=False)[0]
    return y.view(*x.shape[:-1], *[1] * keepdim).to(x.dtype)


def _forward(
    op: LibraryFunction, fallback: Callable, keys, x: Tensor, dim: int, half_to_float: bool
):
    """Compute ``aten::_softmax`` or ``aten::_log_softmax``."""
    if half_to_float and x.dtype is not torch.float16:
        return fallback(keys, x, dim, half_to_float)
    dtype = torch.float32 if half_to_float else None
    if launch := op.known_launch(dim, dtype, x):
        return launch.repeat(x)
    y = op.launch_new(dim % x.dim(), dtype, x) if takes(dim, dtype, x) else None
    return fallback(keys, x, dim, half_to_float) if y is None else y


def _backward(op: LibraryFunction, fallback: Callable, keys, g: Tensor, y: Tensor, dim: int, dtype):
    """Compute the backward of either; ``dtype`` is the dtype of the forward's input."""
    narrowed = y.dtype is torch.float32 and dtype is torch.float16
    dx = None
    if dtype is y.dtype or narrowed:
        if launch := op.known_launch(dim, dtype, g, y):
            return launch.repeat(g, y)
        if g.dtype is y.dtype and takes(dim, dtype, g, y):
            dx = op.launch_new(dim % y.dim(), dtype, g, y)
    return fallback(keys, g, y, dim, dtype) if dx is None else dx


def _of_inductor() -> list:
    """Return Inductor's decompositions, the reset of their cache, and ``make_fallback``.

    Returns [] if this version of Inductor lacks one of them.
    """
    # imported on demand, because importing Inductor takes seconds
    return torch_private(
        "_inductor.decomposition:decompositions",
        "_inductor.decomposition:fast_random_decomps.cache_clear",
        "_inductor.lowering:make_fallback",
    )


def _tell_inductor(to_call: bool) -> None:
    """Make Inductor call the four operators, or decompose them as by default."""
    decompositions, read_again, declare_call = _of_inductor()
    if to_call:
        operators = {getattr(torch.ops.aten, name).default for name in OPERATORS}
        _decompositions.update(
            (name, decompositions.pop(name)) for name in operators & {*decompositions}
        )
        for operator in _decompositions:
            # left undone, Inductor does this itself, but raises if the environment has CI set
            declare_call(operator, warn=False)
    else:
        decompositions.update(_decompositions)
        _decompositions.clear()
    read_again()
    # torch must not reuse what it compiled before this change: reset() empties its cache in
    # memory, and a different tag makes it ignore its cache on disk.
    torch.compiler.reset()
    tag = torch.compiler.config.cache_key_tag.removesuffix(__name__)
    torch.compiler.config.cache_key_tag = tag + __name__ * to_call
