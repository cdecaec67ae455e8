"""Compute token log-probabilities, entropies, log-sum-exps and losses from rows of logits.

On an NVIDIA GPU with cuda-core, a call runs one kernel, which reads each logit once. Its backward
runs one that reads each logit and writes each gradient once; for it the forward saves two numbers
per row, or three with entropies. Everything else is computed by torch's own functions: other
devices and dtypes, torch.func's transforms, second derivatives. Compilers see the operators
``softmax_bench::row_values`` and ``::row_gradient``.
"""

import functools
import math
from collections.abc import Callable
from types import ModuleType

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.compiler import is_dynamo_compiling
from torch.library import custom_op

from ...contract import LONGEST_ROW, MAX_BLOCKS, MIN_CAPABILITY
from ...logits import RowOptions, RowTensors
from ...tensors import DTYPES, current_device
from ..eligible import (
    FAKE_TENSORS,
    TYPES,
    bypasses_dispatcher,
    cached_constant,
    eager_apply,
    only_vmap,
    runs_cuda_kernels,
    transforms,
)
from ..library_function import empty_cuda, has_failed, logger, note_failure
from .by_torch import Values, gradient_by_torch, values_by_torch

BLOCK_BYTES = 16 * 1024  # bytes of the gradient that one thread block writes
LANGUAGE = "CUDA C++"  # the only route besides torch


@cached_constant
def _runs_on(device: int) -> bool:
    return runs_cuda_kernels(device, MIN_CAPABILITY)


def takes(x: Tensor) -> bool:
    """Return whether a kernel may compute rows of x (…, N); compilers can trace this."""
    return (
        x.is_cuda
        and x.dtype in DTYPES
        and (type(x) in TYPES or isinstance(x, FAKE_TENSORS))
        and _runs_on(x.get_device())
    )


@functools.cache
def row_kernels() -> ModuleType | None:
    """Return the module that launches the kernels of logits; None if it cannot be loaded."""
    try:
        from ...logits import launch  # needs cuda-core
    except Exception as error:
        cause = type(error).__name__, error
        logger.warning("functions of logits in CUDA C++ cannot be loaded. %s: %s", *cause)
        return None
    return launch


def may_launch(tensors: RowTensors, options: RowOptions) -> bool:
    x, index, *_ = tensors
    rows, cols = x.shape
    if not (x.is_cuda and rows and 0 < cols <= LONGEST_ROW) or x.is_neg():
        return False
    if x.dtype not in DTYPES or row_kernels() is None:
        return False
    if rows * (cols * x.element_size() // BLOCK_BYTES + 2) > MAX_BLOCKS:
        return False
    if index is not None and not index.numel():
        return False
    return not has_failed(options.operation, LANGUAGE, lambda: _failure_key(x))


def _failure_key(x: Tensor) -> tuple:
    """Return what determines whether a kernel can compute rows of x."""
    return x.get_device(), x.shape[1], x.dtype


def try_launch(x: Tensor, options: RowOptions, launch: Callable[..., None], *arguments) -> bool:
    """Return whether a launch on x's GPU succeeded; if not, torch computes such rows from now on.

    Raises torch's error if memory runs out.
    """
    device = x.get_device()
    try:
        if device < 0 or device == current_device():  # without a context, which takes 0.3 µs
            launch(*arguments)
        else:
            with torch.cuda.device(device):
                launch(*arguments)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        note_failure(options.operation, LANGUAGE, _failure_key(x), "torch", error)
        return False
    return True


def new_float32(shape: tuple[int, ...], x: Tensor) -> Tensor:
    """Return a new contiguous float32 tensor on x's device, in a third of torch.empty's time."""
    if empty_cuda and len(shape) < 2 and x.is_cuda and x.get_device() == current_device():
        return empty_cuda(tuple(shape), (1,) * len(shape), torch.float32)
    return torch.empty(shape, dtype=torch.float32, device=x.device)


def _new_values(tensors: RowTensors, options: RowOptions) -> tuple[Tensor, Tensor | None]:
    """Return new tensors for the values, and for the entropies if there are any."""
    x, index, *_ = tensors
    first = new_float32(x.shape[:1] if index is None else index.shape, x)
    has_entropy = options.operation == "TokenLogProbEntropy"
    return first, new_float32(x.shape[:1], x) if has_entropy else None


def launched_values(
    tensors: RowTensors, options: RowOptions, keeps_sums: bool
) -> tuple[Tensor, Tensor | None, Tensor | None] | None:
    """Return what ``values`` returns, computed by a kernel, or None if none can."""
    x = tensors.x
    if may_launch(tensors, options):
        first, entropies = _new_values(tensors, options)
        count = 2 if entropies is None else 3
        sums = x.new_empty((count, len(x)), dtype=torch.float32) if keeps_sums else None
        arguments = options, tensors, first, entropies, sums
        if try_launch(x, options, row_kernels().forward, *arguments):
            return first, entropies, sums
    return None


def values(tensors: RowTensors, options: RowOptions, keeps_sums: bool = True) -> Values:
    """Return the values per row, the entropies, and, if ``keeps_sums``, what the gradient needs."""
    return launched_values(tensors, options, keeps_sums) or values_by_torch(tensors, options)


def gradient(
    g: Tensor,
    h: Tensor | None,
    tensors: RowTensors,
    sums: Tensor,
    options: RowOptions,
    in_place: bool = False,
    g_scale: Tensor | None = None,
) -> Tensor:
    """Return the gradient with respect to x.

    g and h are the gradients with respect to the values and the entropies. A g without a dimension
    holds for all rows. ``g_scale``, a single number, multiplies g.
    """
    x = tensors.x
    if may_launch(tensors, options) and not transforms():
        g = g.contiguous().float()
        dx = x if in_place else torch.empty_like(x, memory_format=torch.contiguous_format)
        of_entropy = None if h is None else (h.contiguous().float(), sums[2])
        arguments = options, tensors, dx, g, sums, None, of_entropy, g_scale
        if try_launch(x, options, row_kernels().backward, *arguments):
            if in_place:
                torch.autograd.graph.increment_version(x)
            return dx
    g = g if g_scale is None else g * g_scale
    shape = x.shape[:1] if tensors.index is None else tensors.index.shape
    return gradient_by_torch(g.expand(shape), h, tensors, sums, options)


class EagerValues(torch.autograd.Function):
    """Differentiate eager calls, in less host time than the operator takes."""

    @staticmethod
    def forward(ctx, x, tensors: RowTensors, options: RowOptions, in_place: bool):
        first, entropies, sums = values(tensors, options)
        ctx.save_for_backward(x, *tensors[1:], sums)
        ctx.options, ctx.in_place, ctx.shape = options, in_place, first.shape
        ctx.set_materialize_grads(False)
        return first, entropies

    @staticmethod
    def backward(ctx, g, h):
        x, index, temperature, row_mask, sums = ctx.saved_tensors
        if g is None and h is None:
            return (None,) * 4
        g = sums.new_zeros(ctx.shape) if g is None else g
        if torch.is_grad_enabled():  # the caller wants a second derivative
            tensors = RowTensors(x, index, temperature, row_mask)
            return gradient_by_torch(g, h, tensors, None, ctx.options), None, None, None
        tensors = RowTensors(x.detach(), index, temperature, row_mask)
        return gradient(g, h, tensors, sums, ctx.options, ctx.in_place), None, None, None


apply_eager_values = eager_apply(EagerValues)
OPTIONS = "str operation, float temperature, int ignore_index, float smoothing, float z_loss"
TENSORS = "Tensor x, Tensor? index, Tensor? temperatures, Tensor? row_mask"


@custom_op(
    "softmax_bench::row_values",
    mutates_args=(),
    schema=f"({TENSORS}, {OPTIONS}) -> (Tensor, Tensor, Tensor)",
)
def row_values(x, index, temperatures, row_mask, *options):
    first, entropies, sums = values(
        RowTensors(x, index, temperatures, row_mask), RowOptions(*options)
    )
    return first, x.new_empty(0, dtype=torch.float32) if entropies is None else entropies, sums


@row_values.register_fake
def _(x, index, temperatures, row_mask, *options):
    new = functools.partial(x.new_empty, dtype=torch.float32)
    has_entropy = options[0] == "TokenLogProbEntropy"
    first = new(x.shape[:1] if index is None else index.shape)
    entropies = new(x.shape[:1] if has_entropy else 0)
    return first, entropies, new((3 if has_entropy else 2, x.shape[0]))


@custom_op(
    "softmax_bench::row_gradient",
    mutates_args=(),
    schema=f"(Tensor g, Tensor? h, {TENSORS}, Tensor sums, {OPTIONS}) -> Tensor",
)
def row_gradient(g, h, x, index, temperatures, row_mask, sums, *options):
    return gradient(g, h, RowTensors(x, index, temperatures, row_mask), sums, RowOptions(*options))


@row_gradient.register_fake
def _(g, h, x, *_):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _save(ctx, inputs, output) -> None:
    ctx.options = inputs[4:]
    ctx.save_for_backward(*inputs[:4], output[2])
    ctx.has_entropy = inputs[4] == "TokenLogProbEntropy"


def _backward(ctx, g, h, *_):
    dx = row_gradient(g, h if ctx.has_entropy else None, *ctx.saved_tensors, *ctx.options)
    return dx, *(None for _ in range(3 + len(RowOptions._fields)))


def _save_gradient(ctx, inputs, output) -> None:
    ctx.options = inputs[7:]
    ctx.save_for_backward(*inputs[:6])


def _backward_of_gradient(ctx, v):
    """Return the derivatives of the gradient with respect to g, h and x, computed by torch."""
    g, h, x, *more_tensors = ctx.saved_tensors
    differentiated = [t.detach().requires_grad_() for t in (g, h, x) if t is not None]
    with torch.enable_grad():
        *of_outputs, x = differentiated
        h = None if h is None else of_outputs[1]
        tensors, options = RowTensors(x, *more_tensors), RowOptions(*ctx.options)
        dx = gradient_by_torch(of_outputs[0], h, tensors, None, options)
        by = torch.autograd.grad(dx, differentiated, v.to(dx.dtype))
    by_h = None if h is None else by[1]
    return by[0], by_h, by[-1], *(None for _ in range(4 + len(RowOptions._fields)))


row_values.register_autograd(_backward, setup_context=_save)
row_gradient.register_autograd(_backward_of_gradient, setup_context=_save_gradient)


def as_rows(x: Tensor) -> Tensor:
    """Return x (…, N) as a matrix with adjacent columns, a copy only if necessary."""
    matrix = x if x.dim() == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    return matrix if matrix.stride(1) == 1 or x.shape[-1] == 1 else matrix.contiguous()


def may_overwrite(x: Tensor) -> bool:
    """Return whether a gradient may overwrite x (M, N).

    Overwriting a leaf, even through a view, would destroy the caller's logits, and an element that
    overlapping rows share has several gradients.
    """
    owner = x if x._base is None else x._base
    return not owner.is_leaf and x.stride(0) >= x.shape[1]


def compute(
    tensors: RowTensors, options: RowOptions, in_place: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Return the values and the entropies of rows, by a kernel if one supports them."""
    x, compiles = tensors.x, is_dynamo_compiling()
    if not takes(x):
        return values_by_torch(tensors, options)[:2]
    if compiles or not bypasses_dispatcher(x):
        is_transformed = not only_vmap() if compiles else transforms()
        if is_transformed or getattr(forward_ad, "_current_level", -1) >= 0:
            return values_by_torch(tensors, options)[:2]
        return row_values(*tensors, *options)[:2]
    if x.requires_grad and torch.is_grad_enabled():
        return apply_eager_values(x, tensors, options, in_place and may_overwrite(x))
    return values(tensors, options, keeps_sums=False)[:2]
