"""Define ``kernels.softmax`` and ``kernels.log_softmax``, which have torch's signatures.

A call takes one of three routes:

- directly to a kernel, when no compiler, transform or mode needs to see the call;
- through the custom operator (``operators``), when one does;
- to torch, for all that the kernels do not take: other devices, dtypes and tensor classes, and
  torch.func's derivatives. torch then gives the result or the error.

Bytes: 2·M·N·itemsize if all rows have one stride and a row fits where the kernel keeps it. Any
other tensor is made contiguous first, as torch does.
Host: the direct route costs one allocation and one launch; see ``eligible``.
"""

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ..tensors import DTYPES
from . import eligible, entry, operators
from .eligible import FAKE_TENSORS, TYPES, plain


def softmax(input: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    """Return ``torch.softmax(input, dim, dtype)`` for any rank and strides; differentiable.

    This package's kernels compute float32, float16 and bfloat16 on an NVIDIA GPU, with arithmetic
    in float32. torch computes everything else. input is cast to ``dtype`` first.
    The result is contiguous and has input's shape. Raises what torch raises.
    """
    y = None if torch.compiler.is_dynamo_compiling() else _direct(input, dim, dtype, False)
    return _general(input, dim, dtype, False) if y is None else y


def log_softmax(input: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    """Return ``torch.log_softmax(input, dim, dtype)``; see ``softmax``."""
    y = None if torch.compiler.is_dynamo_compiling() else _direct(input, dim, dtype, True)
    return _general(input, dim, dtype, True) if y is None else y


# The public name, for help(), tracebacks and pickle.
softmax.__module__ = log_softmax.__module__ = __package__.partition(".")[0]


def _direct(x: Tensor, dim: int, dtype: torch.dtype | None, log: bool) -> Tensor | None:
    """Return the result without torch's layers in between, or None if they are needed."""
    if not plain(x) or type(dim) is not int:
        return None
    differentiable = x.requires_grad and torch.is_grad_enabled()
    # autocast's softmax is in float32
    as_given = x.dtype is torch.float32 or not torch.is_autocast_enabled("cuda")
    known = entry.known_launch(x, dim, log) if dtype is None and as_given else None
    if known is None:
        if not _computes(x, dim, dtype) or not eligible.address_of(x):
            return None
        dim %= x.dim()
        if dtype is not None or not as_given:
            x, dtype = _cast(x, dtype)
            known = entry.known_launch(x, dim, log) if dtype is None else None
        if known is None and not differentiable:
            return entry.launch_new(x, dim, log, dtype)
    if differentiable:
        return operators.apply(x, (dim, log, dtype, known))
    return entry.repeat(x, known)


def _general(x: Tensor, dim: int, dtype: torch.dtype | None, log: bool) -> Tensor:
    """Return the result through torch: its own function, or the custom operator."""
    if not _takes(x, dim, dtype):
        keywords = {} if dtype is None else {"dtype": dtype}  # an error quotes them
        return (torch.log_softmax if log else torch.softmax)(x, dim, **keywords)
    x, dtype = _cast(x, dtype)
    return operators.softmax(x, dim % x.dim(), log, dtype)


def _cast(x: Tensor, dtype: torch.dtype | None) -> tuple[Tensor, torch.dtype | None]:
    """Return what a kernel reads, and the dtype that it writes; None is that of the input.

    torch casts the input, then computes the softmax. Only a cast to float32 loses nothing, so only
    then may a kernel read the input's dtype and write the other.
    """
    if dtype is None and torch.is_autocast_enabled("cuda"):
        dtype = torch.float32  # autocast's own rule for softmax
    if dtype is None or dtype is x.dtype:
        return x, None
    return (x, dtype) if dtype is torch.float32 else (x.to(dtype), None)


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
