"""Launch the kernels of logits on torch's tensors.

All tensors of a call are on the current device, and the caller has checked shapes, dtypes and
strides: x is (M, N) with any row stride, and everything else is contiguous.
"""

import functools
import struct

import torch
from torch import Tensor

from ..contract import WARP
from ..cuda import launch as cuda
from ..cuda.plan import TYPES, LaunchPlan, Planner, Problem, instantiate, widest_pack
from . import RowOptions, RowTensors, logits_backward, logits_forward, loss_and_gradient

MEAN_SOURCE = logits_forward.SOURCE.with_name("loss_mean.cu")
MEAN_THREADS = 32 * WARP

# One gradient kernel serves an operation with and without entropies, with and without smoothing.
GRADIENTS = {"TokenLogProbEntropy": "TokenLogProb", "SmoothedCrossEntropy": "CrossEntropy"}


@functools.cache  # one planner for each operation, because launches are cached by it
def forward_planner(operation: str) -> Planner:
    """Return the planner of an operation in logits_forward.cu."""
    return functools.partial(logits_forward.plan, operation=operation)


@functools.cache
def backward_planner(operation: str) -> Planner:
    """Return the planner of the gradient of an operation in logits_forward.cu."""
    return functools.partial(logits_backward.plan, operation=GRADIENTS.get(operation, operation))


@functools.cache
def fused_planner(operation: str) -> Planner:
    """Return the planner of a loss in logits_forward.cu fused with its gradient."""
    return functools.partial(loss_and_gradient.plan, operation=operation)


@functools.cache
def fits_in_registers(operation: str, dtype: torch.dtype, cols: int, device: int) -> bool:
    """Return whether ``forward_and_backward`` takes rows of ``cols`` elements."""
    problem = Problem(dtype, 1, cols, 1, False, cuda.gpu_info(device))
    return bool(fused_planner(operation)(problem))


@functools.cache
def _mean_planner(is_sum: bool) -> Planner:
    kernel = instantiate("loss_mean", MEAN_THREADS, is_sum)

    def plan(problem: Problem) -> tuple[LaunchPlan, ...]:
        return (LaunchPlan(MEAN_SOURCE, kernel, MEAN_THREADS, 1),)

    return plan


def _plan_multiply(problem: Problem) -> tuple[LaunchPlan, ...]:
    sizes = logits_backward.PER_THREAD, logits_backward.THREADS
    kernel = instantiate("multiply_rows", TYPES[problem.dtype], *sizes)
    row_blocks = logits_backward.blocks_of_a_row(problem)
    blocks = problem.rows * row_blocks
    return (LaunchPlan(logits_backward.SOURCE, kernel, sizes[1], blocks, extra_args=(row_blocks,)),)


@functools.lru_cache(maxsize=256)
def _numbers(options: RowOptions, by_row: bool) -> tuple[int, int, int, int]:
    """Return the last fields of ``RowArguments`` in logit_arguments.cuh.

    A kernel reads a float32 from the lowest bytes of a field.
    """
    inverse = 1.0 if by_row else 1.0 / options.temperature
    floats = struct.pack("3f", inverse, options.label_smoothing, options.z_loss)
    return options.ignore_index, *struct.unpack("3I", floats)


def _row_arguments(tensors: RowTensors, options: RowOptions, rows: int) -> tuple[int, ...]:
    _, index, temperature, row_mask = tensors
    return (
        0 if index is None else index.data_ptr(),
        0 if temperature is None else temperature.data_ptr(),
        0 if row_mask is None else row_mask.data_ptr(),
        1 if index is None else index.numel() // rows,
        *_numbers(options, temperature is not None),
    )


def forward(
    options: RowOptions,
    tensors: RowTensors,
    first: Tensor,
    second: Tensor | None = None,
    sums: Tensor | None = None,
) -> None:
    """Launch an operation in logits_forward.cu, which says what the tensors hold.

    ``sums`` (2, M): maxima and log_sums; (3, M) with entropies.
    """
    x = tensors.x
    (rows, cols), stride, address = x.shape, x.stride(0), x.data_ptr()
    pack = widest_pack(x.element_size(), address, stride | cols)
    planner = forward_planner(options.operation)
    maxima = 0 if sums is None else sums.data_ptr()
    arguments = (
        *_row_arguments(tensors, options, rows),
        first.data_ptr(),
        address,
        stride,
        rows,
        cols,
        0 if second is None else second.data_ptr(),
        maxima,
        maxima and maxima + 4 * rows,
    )
    cuda.launch_with((planner, x.dtype, rows, cols, pack, False, x.get_device(), None), arguments)


def backward(
    options: RowOptions,
    tensors: RowTensors,
    dx: Tensor,
    g: Tensor | None,
    maxima: Tensor,
    log_sums: Tensor | None = None,
    of_entropy: tuple[Tensor, Tensor] | None = None,
    g_scale: Tensor | None = None,
) -> None:
    """Launch an operation of logits_backward.cu, which says what the tensors hold.

    g with one number applies to all rows; None stands for 1. Without ``log_sums``, ``maxima``
    (2, M) holds both.
    ``of_entropy``: the gradients with respect to the entropies, and the entropies.
    """
    x = tensors.x
    rows, cols = x.shape
    sums = maxima.data_ptr()
    of_rows = (0, 0) if of_entropy is None else [values.data_ptr() for values in of_entropy]
    arguments = (
        *_row_arguments(tensors, options, rows),
        dx.data_ptr(),
        x.data_ptr(),
        0 if g is None else g.data_ptr(),
        dx.stride(0),
        x.stride(0),
        rows,
        cols,
        0 if g is None or g.dim() == 0 else g.numel() // rows,
        0 if g_scale is None else g_scale.data_ptr(),
        sums,
        sums + 4 * rows if log_sums is None else log_sums.data_ptr(),
        *of_rows,
    )
    planner = backward_planner(options.operation)
    cuda.launch_with((planner, x.dtype, rows, cols, 1, False, x.get_device(), None), arguments)


def forward_and_backward(
    options: RowOptions,
    tensors: RowTensors,
    losses: Tensor,
    dx: Tensor,
    g_scale: Tensor | None = None,
) -> None:
    """Launch loss_and_gradient.cu on rows that ``fits_in_registers``; dx may be x.

    ``g_scale``, one number, is the gradient of each loss; None is 1.
    """
    x = tensors.x
    (rows, cols), strides = x.shape, (x.stride(0), dx.stride(0))
    addresses = x.data_ptr(), dx.data_ptr()
    pack = widest_pack(
        x.element_size(), addresses[0] | addresses[1], strides[0] | strides[1] | cols
    )
    arguments = (
        *_row_arguments(tensors, options, rows),
        losses.data_ptr(),
        addresses[0],
        strides[0],
        rows,
        cols,
        *(0, 0, 0),  # no entropies, and no sums for a backward
        addresses[1],
        strides[1],
        0 if g_scale is None else g_scale.data_ptr(),
    )
    planner = fused_planner(options.operation)
    cuda.launch_with((planner, x.dtype, rows, cols, pack, False, x.get_device(), None), arguments)


def multiply_rows(dx: Tensor, g: Tensor) -> None:
    """Multiply each row of dx (M, N) by its g (M,), or by the only one; 1 costs no access."""
    rows, cols = dx.shape
    arguments = dx.data_ptr(), g.data_ptr(), dx.stride(0), int(g.dim() > 0), cols
    cuda.launch_with(
        (_plan_multiply, dx.dtype, rows, cols, 1, False, dx.get_device(), None), arguments
    )


def loss_mean(
    losses: Tensor,
    targets: Tensor,
    result: Tensor,
    scale: Tensor,
    ignore_index: int,
    is_sum: bool,
) -> None:
    """Write the mean or the sum of losses (M,), and the factor of their gradient to ``scale``."""
    rows = losses.numel()
    addresses = result.data_ptr(), losses.data_ptr(), scale.data_ptr(), targets.data_ptr()
    key = _mean_planner(is_sum), losses.dtype, rows, 1, 1, False, losses.get_device(), None
    cuda.launch_with(key, (*addresses, rows, ignore_index))
