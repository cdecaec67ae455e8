"""``softmax`` and ``log_softmax`` with torch's signature; this is what ``kernels.softmax`` is.

A call takes one of three ways:

- directly to a kernel, when nothing needs to see it: no compiler, no transform, no mode;
- through the custom operator (``operators``), when something does;
- to torch, which has the answer, or the error, for all that the kernels do not take: other
  devices, dtypes and classes of tensors, and torch.func's derivatives.

Bytes: 2·M·N·itemsize with adjacent rows or rows evenly apart, as long as a row fits where the
kernel keeps it. Any other tensor is made contiguous first, which torch does too.
Host: the direct way spends its time on one allocation and one launch; see ``plain_tensor``.
"""

import torch
from torch import Tensor
from torch._C._functorch import TransformType
from torch._functorch.pyfunctorch import retrieve_all_functorch_interpreters
from torch._subclasses import FakeTensor
from torch.autograd import forward_ad

from ..tensors import DTYPES
from . import device as devices
from . import launch as run
from . import operators as ops
from .autograd import apply
from .plain_tensor import TYPES, plain


def softmax(input: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    """``torch.softmax(input, dim, dtype)``: any rank, dimension and strides; differentiable.

    float32, float16 and bfloat16 on an NVIDIA GPU are computed by this package's kernels, in
    float32 whatever the dtype; everything else by torch. input is cast to ``dtype`` first.
    Returns a contiguous tensor of input's shape. Raises what torch raises.
    """
    y = None if torch.compiler.is_dynamo_compiling() else _direct(input, dim, dtype, False)
    return _general(input, dim, dtype, False) if y is None else y


def log_softmax(input: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    """``torch.log_softmax(input, dim, dtype)``; see ``softmax``."""
    y = None if torch.compiler.is_dynamo_compiling() else _direct(input, dim, dtype, True)
    return _general(input, dim, dtype, True) if y is None else y


# One name for a user: in help(), in tracebacks, and for pickle.
softmax.__module__ = log_softmax.__module__ = __package__.partition(".")[0]


def _direct(x: Tensor, dim: int, dtype: torch.dtype | None, log: bool) -> Tensor | None:
    """The result without any of torch's layers in between, or None where they are needed.

    torch casts the input, then takes the softmax. Only where the cast loses nothing, to float32,
    is it the same to read the input as it is and to write the other dtype.
    """
    if not plain(x) or type(dim) is not int or forward_ad._current_level >= 0:
        return None
    rank, own = x.dim(), x.dtype
    if not -rank <= dim < rank or own not in DTYPES:
        return None
    if dtype is None:
        if own is not torch.float32 and torch.is_autocast_enabled("cuda"):
            dtype = torch.float32
    elif dtype is not own and dtype is not torch.float32:
        if dtype not in DTYPES:
            return None
        x, dtype = x.to(dtype), None
    if x.requires_grad and torch.is_grad_enabled():
        return apply(x, dim % rank, log, dtype)
    return run.launch_forward(x, dim % rank, log, dtype)


def _general(x: Tensor, dim: int, dtype: torch.dtype | None, log: bool) -> Tensor:
    """The result through torch: its own function, or the custom operator."""
    if not _takes(x, dim, dtype):
        return (torch.log_softmax if log else torch.softmax)(x, dim, dtype=dtype)
    if dtype is None and x.dtype != torch.float32 and torch.is_autocast_enabled("cuda"):
        dtype = torch.float32  # autocast's own rule for softmax
    if dtype is not None and dtype != torch.float32:
        x, dtype = x.to(dtype), None
    return ops.softmax(x, dim % x.dim(), log, dtype)


def _takes(x: Tensor, dim: int, dtype: torch.dtype | None) -> bool:
    """Whether the operator is for this call; asks nothing that a compiler cannot answer."""
    return (
        (type(x) in TYPES or isinstance(x, FakeTensor))
        and devices.usable(x)
        and x.dtype in DTYPES
        and (dtype is None or dtype in DTYPES)
        and x.layout == torch.strided
        and not x.is_nested
        and type(dim) is int
        and -x.dim() <= dim < x.dim()
        and forward_ad._current_level < 0
        and _only_vmap()
    )


@devices.constant  # a compiler asks again where the transforms are others
def _only_vmap() -> bool:
    """Whether of torch.func's transforms none but vmap is at work; operators know no other."""
    return all(t.key() == TransformType.Vmap for t in retrieve_all_functorch_interpreters())
