"""Define ``kernels.softmax`` and ``kernels.log_softmax``, which have torch's signatures.

A call takes one of three routes:

- directly to a kernel, when no compiler, transform or mode needs to see the call;
- through the custom operator (``operators``), when one does;
- to torch, for all that the kernels do not take: other devices, dtypes and tensor classes, and
  torch.func's derivatives. torch then gives the result or the error.

Bytes: 2·M·N·itemsize if all rows have one stride and a row fits where the kernel keeps it. Any
other tensor is made contiguous first, as torch does.
Host: the direct route costs one allocation and one launch; see ``eligible``. Names are imported one
by one where such a call reads them: each look-up in a module takes 0.03 µs.
"""

import torch
from torch import Tensor, is_autocast_enabled, is_grad_enabled
from torch.autograd import forward_ad
from torch.compiler import is_dynamo_compiling

from ..contract import VEC_BYTES
from ..tensors import DTYPES
from . import eligible, entry, operators
from .eligible import (
    FAKE_TENSORS,
    TYPES,
    dispatch_modes,
    function_modes,
    in_memory,
    tracing,
    transforms,
)

# By ``log``, kept because a user may put this module's functions in their places.
FUNCTIONAL = torch.nn.functional.softmax, torch.nn.functional.log_softmax
FLOAT32 = torch.float32


def softmax(
    input: Tensor,
    dim: int,
    dtype: torch.dtype | None = None,
    *,
    out: Tensor | None = None,
    _stacklevel: int | None = None,
) -> Tensor:
    """Return ``torch.softmax(input, dim, dtype)`` for any rank and strides; differentiable.

    This package's kernels compute float32, float16 and bfloat16 on an NVIDIA GPU, with arithmetic
    in float32. torch computes everything else, and all that is written to ``out``. input is cast to
    ``dtype`` first. ``_stacklevel`` is an argument of ``torch.nn.functional.softmax``, for which
    this function may stand.
    The result is contiguous and has input's shape. Raises what torch raises.
    """
    if out is None and not is_dynamo_compiling():
        y = _direct(input, dim, dtype, False)
        if y is not None:
            return y
    return _general(input, dim, dtype, False, out, _stacklevel)


def log_softmax(
    input: Tensor,
    dim: int,
    dtype: torch.dtype | None = None,
    *,
    out: Tensor | None = None,
    _stacklevel: int | None = None,
) -> Tensor:
    """Return ``torch.log_softmax(input, dim, dtype)``; see ``softmax``."""
    if out is None and not is_dynamo_compiling():
        y = _direct(input, dim, dtype, True)
        if y is not None:
            return y
    return _general(input, dim, dtype, True, out, _stacklevel)


# The public name, for help(), tracebacks and pickle.
softmax.__module__ = log_softmax.__module__ = __package__.partition(".")[0]


def _direct(x: Tensor, dim: int, dtype: torch.dtype | None, log: bool) -> Tensor | None:
    """Return the result without torch's layers in between, or None if they are needed.

    It begins as ``eligible.plain`` and ``entry.known_launch`` in full: their calls take 0.2 µs.
    """
    if type(x) not in TYPES or transforms() or dispatch_modes() or function_modes() or tracing():
        return None
    if forward_ad._current_level >= 0 or type(dim) is not int:
        return None
    x_dtype = x.dtype
    if dtype is None and x_dtype is not FLOAT32 and is_autocast_enabled("cuda"):
        dtype = FLOAT32  # autocast's own rule for softmax
    try:
        device = x.get_device()
        known = entry.known_launches.get((x.shape, x_dtype, dtype, device, dim, log))
        if known is not None and not (
            device == entry.current_device()
            and x.is_contiguous()
            and not x.is_neg()
            and (address := x.data_ptr())
            and address % VEC_BYTES == 0
        ):
            known = None
    except (RuntimeError, TypeError):
        known = None
    differentiable = x.requires_grad and is_grad_enabled()
    if known is None:
        if not in_memory(x) or not _computes(x, dim, dtype):
            return None
        x, dtype = _cast(x, dtype)
        dim %= x.dim()
        if not differentiable:
            return entry.launch_forward(x, dim, log, dtype)
        known = entry.first_launch(x, dim, log, dtype)
    return operators.apply(x, known) if differentiable else known.repeat(x)


def _general(
    x: Tensor,
    dim: int,
    dtype: torch.dtype | None,
    log: bool,
    out: Tensor | None,
    stacklevel: int | None,
) -> Tensor:
    """Return the result through torch: its own function, or the custom operator."""
    if out is None and _takes(x, dim, dtype):
        x, dtype = _cast(x, dtype)
        return operators.softmax(x, dim % x.dim(), log, dtype)
    if dim is None and stacklevel is not None:  # only torch.nn.functional has a default for it
        return FUNCTIONAL[log](x, dim, stacklevel + 1, dtype)
    # an error quotes the keywords that were given
    keywords = {"dtype": dtype, "out": out}
    keywords = {name: value for name, value in keywords.items() if value is not None}
    return (torch.log_softmax if log else torch.softmax)(x, dim, **keywords)


def _cast(x: Tensor, dtype: torch.dtype | None) -> tuple[Tensor, torch.dtype | None]:
    """Return what a kernel reads, and the dtype that it writes; None is that of the input.

    torch casts the input, then computes the softmax. Only a cast to float32 loses nothing, so only
    then may a kernel read the input's dtype and write the other.
    """
    if dtype is None and is_autocast_enabled("cuda"):
        dtype = FLOAT32
    if dtype is None or dtype is x.dtype:
        return x, None
    return (x, dtype) if dtype is FLOAT32 else (x.to(dtype), None)


def _takes(x: Tensor, dim: int, dtype: torch.dtype | None) -> bool:
    """Return whether the operator takes the call; safe to trace by a compiler."""
    return (
        (type(x) in TYPES or isinstance(x, FAKE_TENSORS))
        and x.layout == torch.strided
        and not x.is_nested
        and type(dim) is int
        and _computes(x, dim, dtype)
        and getattr(forward_ad, "_current_level", -1) < 0
        and eligible.only_vmap()
    )


def _computes(x: Tensor, dim: int, dtype: torch.dtype | None) -> bool:
    """Return whether the kernels have the device, the dtypes and the dimension."""
    return (
        eligible.usable(x)
        and x.dtype in DTYPES
        and (dtype is None or dtype in DTYPES)
        and -x.dim() <= dim < x.dim()
    )
