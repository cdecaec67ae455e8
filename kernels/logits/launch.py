"""Launch the kernels of logits on torch's tensors.

``Settings`` are what all operations may have beside the logits. All tensors of a call are on the
current device, where the caller has checked shapes, dtypes and strides: x is (M, N) of any row
stride, and everything else is contiguous.
"""

import functools
import struct
from typing import NamedTuple

from torch import Tensor

from ..cuda import launch as cuda
from ..cuda.plan import Planner, widest_pack
from . import logits_backward, logits_forward

NO_INDEX = -(2**63)  # no column is ignored


class Settings(NamedTuple):
    """Hold what changes a row's values, and the gradient by them."""

    temperature: float | Tensor = 1.0  # a tensor is float32, (M,)
    kept: Tensor | None = None  # bool or uint8, (M,): False where values and gradients are 0
    ignore_index: int = NO_INDEX  # of a loss: its rows have loss and gradient 0
    label_smoothing: float = 0.0  # of a loss
    z_loss: float = 0.0  # of a loss: it grows by z_loss * logsumexp**2


DEFAULT = Settings()


@functools.cache  # one planner for each operation, because launches are cached by it
def _planner(plan, operation: str) -> Planner:
    return functools.partial(plan, operation=operation)


def _address(x: Tensor | None) -> int:
    return 0 if x is None else x.data_ptr()


@functools.lru_cache(maxsize=64)
def _bits(value: float) -> int:
    """Return the bits of a float32; a kernel reads it from the lowest bytes of an argument."""
    return struct.unpack("I", struct.pack("f", value))[0]


def _row_arguments(index: Tensor | None, count: int, settings: Settings) -> tuple[int, ...]:
    """Return the fields of ``RowArguments`` in logit_arguments.cuh."""
    by_row = isinstance(settings.temperature, Tensor)
    return (
        _address(index),
        _address(settings.temperature if by_row else None),
        _address(settings.kept),
        count,
        settings.ignore_index,
        _bits(1.0 if by_row else 1.0 / settings.temperature),
        _bits(settings.label_smoothing),
        _bits(settings.z_loss),
    )


def forward(
    operation: str,
    x: Tensor,
    index: Tensor | None,
    first: Tensor,
    second: Tensor | None = None,
    sums: tuple[Tensor, Tensor] | None = None,
    settings: Settings = DEFAULT,
) -> None:
    """Launch an operation of logits_forward.cu, which says what the tensors hold.

    ``sums``: maxima and log_sums.
    """
    (rows, cols), stride = x.shape, x.stride(0)
    count = 1 if index is None else index.numel() // rows
    address = x.data_ptr()
    pack = widest_pack(x.element_size(), address, stride | cols)
    planner = _planner(logits_forward.plan, operation)
    key = planner, x.dtype, rows, cols, pack, False, x.get_device(), None
    of_rows = second, *(sums or (None, None))
    fields = first.data_ptr(), address, stride, rows, cols, *map(_address, of_rows)
    cuda.launch_with(key, (*_row_arguments(index, count, settings), *fields))


def backward(
    operation: str,
    x: Tensor,
    index: Tensor | None,
    dx: Tensor,
    g: Tensor,
    sums: tuple[Tensor, Tensor],
    h: Tensor | None = None,
    entropies: Tensor | None = None,
    settings: Settings = DEFAULT,
) -> None:
    """Launch an operation of logits_backward.cu, which says what the tensors hold.

    ``sums``: maxima and log_sums.
    """
    rows, cols = x.shape
    count = 1 if index is None else index.numel() // rows
    planner = _planner(logits_backward.plan, operation)
    key = planner, x.dtype, rows, cols, 1, False, x.get_device(), None
    matrices = dx.data_ptr(), x.data_ptr(), g.data_ptr(), dx.stride(0), x.stride(0), rows, cols
    fields = *matrices, *map(_address, (*sums, h, entropies))
    cuda.launch_with(key, (*_row_arguments(index, count, settings), *fields))
