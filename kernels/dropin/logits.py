"""Compute log-probabilities of tokens, entropies, log-sum-exps and losses from rows of logits.

A call on an NVIDIA GPU with cuda-core runs one kernel that reads each logit once, and its backward
one that reads and writes each once; the forward saves two numbers of a row. Anything else is
computed by torch's own functions: other devices and dtypes, torch.func's transforms, the derivative
of a derivative. Compilers see the operators ``softmax_bench::row_values`` and ``::row_gradient``.
"""

import functools
import importlib.util
import logging
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling
from torch.library import custom_op

from ..contract import LONGEST_ROW, MAX_BLOCKS, MIN_CAPABILITY
from ..logits import Options, RowTensors
from ..tensors import DTYPES, current_device
from .eligible import FAKE_TENSORS, TYPES, bypasses_dispatcher, torch_private, transforms

MAX_ROWS = MAX_BLOCKS // 2**11  # a row has 2^11 blocks at most
logger = logging.getLogger(__package__.partition(".")[0])
_empty_cuda = torch_private("_C._dynamo.guards:_empty_strided_cuda")  # as in ``operation``
_failed: set[tuple] = set()  # (operation, device, dtype, N), which torch computes from then on

# The values, the entropies, and ``sums`` (2, M): maxima and log(Σ exp((x - max) / temperature)).
Values = tuple[Tensor, Tensor, Tensor]


class LogSoftmax(NamedTuple):
    """Hold what torch computes of rows: every step of it differentiable by x."""

    used: Tensor  # bool (M,): rows whose values count
    maxima: Tensor  # (M,), a constant
    log_sums: Tensor  # (M,): log Σ exp((x - max) / temperature)
    log_p: Tensor  # (M, N)
    inverse: Tensor | float  # 1 / temperature, (M, 1)


def _log_softmax(tensors: RowTensors, options: Options, sums: Tensor | None = None) -> LogSoftmax:
    """Return it by torch; ``sums``, where they are known."""
    x, index, temperature, kept = tensors
    used = torch.ones(len(x), dtype=torch.bool, device=x.device) if kept is None else kept.bool()
    if options.operation.endswith("CrossEntropy"):
        used = used & (index.view(-1) != options.ignore_index)
    # Rows that are not used may hold anything, which no gradient may see.
    x = torch.where(used[:, None], x.float(), 0.0)
    inverse = 1 / options.temperature if temperature is None else 1 / temperature[:, None]
    if sums is None:
        maxima = x.detach().amax(1) if x.shape[1] else x.new_full((len(x),), -torch.inf)
        # A row of -inf alone has no distances, and a sum of 0.
        distances = (x - maxima[:, None]).masked_fill(maxima[:, None] == -torch.inf, 0.0)
        sums = torch.stack([maxima, torch.logsumexp(distances * inverse, 1)])
    maxima, log_sums = sums
    log_p = (x - maxima[:, None]) * inverse - log_sums[:, None]
    return LogSoftmax(used, maxima, log_sums, log_p, inverse)


def _entropy(log_p: Tensor) -> Tensor:
    return -(log_p.exp() * log_p.masked_fill(log_p == -torch.inf, 0.0)).sum(1)


def _columns(tensors: RowTensors) -> tuple[Tensor, Tensor]:
    """Return the index as (M, K), 0 where it is outside the row, and whether it is inside."""
    index = tensors.index.view(len(tensors.x), -1)
    inside = (index >= 0) & (index < tensors.x.shape[1])
    return index.where(inside, 0), inside


def by_torch(tensors: RowTensors, options: Options) -> Values:
    """Return what the kernels compute, by torch."""
    x = tensors.x
    rows = _log_softmax(tensors, options)
    used, entropies = rows.used, x.new_empty(0, dtype=torch.float32)
    logsumexp = (rows.maxima[:, None] * rows.inverse)[:, 0] + rows.log_sums
    if options.operation == "LogSumExp":
        # The sum of a row with +inf is NaN, even if no element is.
        infinite = (rows.maxima == torch.inf) & ~x.isnan().any(1)
        first = torch.where(infinite, rows.maxima, logsumexp)
    else:
        columns, inside = _columns(tensors)
        first = torch.where(inside, rows.log_p.gather(1, columns), torch.nan)
    if options.operation == "TokenLogProbEntropy":
        entropies = torch.where(used, _entropy(rows.log_p), 0.0)
    if options.operation.endswith("CrossEntropy"):
        smoothing, first = options.label_smoothing, -first[:, 0]
        if smoothing:
            first = (1 - smoothing) * first - smoothing * rows.log_p.mean(1)
        first = first + options.z_loss * logsumexp**2
    first = torch.where(used.view(-1, *(1 for _ in first.shape[1:])), first, 0.0)
    shape = first.shape if tensors.index is None else tensors.index.shape
    return first.view(shape), entropies, torch.stack([rows.maxima, rows.log_sums])


def gradient_by_torch(
    g: Tensor, h: Tensor | None, tensors: RowTensors, saved: Values | None, options: Options
) -> Tensor:
    """Return the gradient by x, by torch; differentiable by g, h and, without ``saved``, by x."""
    x = tensors.x
    rows = _log_softmax(tensors, options, None if saved is None else saved[2])
    p = rows.log_p.exp()
    if options.operation == "LogSumExp":
        dx = g[:, None] * p
    elif options.operation.endswith("CrossEntropy"):
        smoothing, (columns, inside) = options.label_smoothing, _columns(tensors)
        target = torch.zeros_like(p).scatter(1, columns, inside.float())
        logsumexp = (rows.maxima + rows.log_sums)[:, None]
        dx = p * (1 + 2 * options.z_loss * logsumexp) - (1 - smoothing) * target
        dx = g.view(-1, 1) * (dx - smoothing / x.shape[1])
    else:
        columns, inside = _columns(tensors)
        by_column = g.reshape(columns.shape)
        dx = torch.zeros_like(p).scatter_add(1, columns, by_column * inside)
        dx = dx - p * by_column.sum(1, keepdim=True)
    if h is not None:
        entropy = _entropy(rows.log_p) if saved is None else saved[1]
        from_mean = (rows.log_p + entropy[:, None]).masked_fill(p == 0, 0.0)
        dx = dx - h[:, None] * p * from_mean
    return torch.where(rows.used[:, None], dx * rows.inverse, 0.0).to(x.dtype)


@functools.cache
def _runs_on(device: int) -> bool:
    if device < 0 or torch.cuda.get_device_capability(device) < MIN_CAPABILITY:
        return False
    return all(map(importlib.util.find_spec, ("cuda", "cuda.core")))


def takes(x: Tensor) -> bool:
    """Return whether a kernel may compute rows of x, (…, N); a compiler may trace it."""
    return (
        x.is_cuda
        and x.dtype in DTYPES
        and (type(x) in TYPES or isinstance(x, FAKE_TENSORS))
        and _runs_on(x.get_device())
    )


@functools.cache
def _kernels() -> ModuleType:
    from ..logits import launch  # here, because a machine without a GPU needs none of it

    return launch


def _may_launch(x: Tensor, options: Options) -> bool:
    rows, cols = x.shape
    if not (x.is_cuda and 0 < rows <= MAX_ROWS and 0 < cols <= LONGEST_ROW):
        return False
    return not _failed or (options.operation, x.get_device(), x.dtype, cols) not in _failed


def _note_failure(x: Tensor, options: Options, error: Exception) -> None:
    """Leave such rows to torch, and log why; raise the error again if memory is short."""
    if isinstance(error, torch.OutOfMemoryError):
        raise error
    kind = options.operation, x.get_device(), x.dtype, x.shape[1]
    _failed.add(kind)
    text = "%s in CUDA C++ failed on cuda:%d at rows of %d; torch computes them instead. %s: %s"
    logger.warning(text, *kind[:2], kind[3], type(error).__name__, error)


def _on_device(x: Tensor, function, *arguments) -> None:
    """Call a function with x's GPU as the current one."""
    if x.get_device() == current_device():
        return function(*arguments)
    with torch.cuda.device(x.device):
        return function(*arguments)


def _empty(shape: tuple[int, ...], x: Tensor) -> Tensor:
    """Return a new contiguous tensor of float32 beside x, in a third of torch.empty's time."""
    if _empty_cuda and len(shape) == 1 and x.is_cuda and x.get_device() == current_device():
        return _empty_cuda[0]((shape[0],), (1,), torch.float32)  # not a torch.Size
    return torch.empty(shape, dtype=torch.float32, device=x.device)


def _new_values(tensors: RowTensors, options: Options) -> tuple[Tensor, Tensor | None]:
    """Return new tensors for the values, and for the entropies if there are any."""
    x, index, *_ = tensors
    first = _empty(x.shape[:1] if index is None else index.shape, x)
    return first, _empty(x.shape[:1], x) if options.operation == "TokenLogProbEntropy" else None


def values(tensors: RowTensors, options: Options, keeps_sums: bool = True) -> Values:
    """Return the values of each row, and what their gradient needs if ``keeps_sums``."""
    x = tensors.x
    if _may_launch(x, options):
        first, entropies = _new_values(tensors, options)
        sums = x.new_empty((2, len(x)), dtype=torch.float32) if keeps_sums else None
        try:
            _on_device(x, _kernels().forward, options, tensors, first, entropies, sums)
        except Exception as error:
            _note_failure(x, options, error)
        else:
            return first, entropies, sums
    return by_torch(tensors, options)


def gradient(
    g: Tensor | None,
    h: Tensor | None,
    tensors: RowTensors,
    saved: Values,
    options: Options,
    in_place: bool = False,
    g_scale: Tensor | None = None,
) -> Tensor:
    """Return the gradient by x, from those by the values (g) and the entropies (h).

    g is one number for all rows if it has no dimension; ``g_scale``, one number, multiplies it.
    """
    x = tensors.x
    first, entropies, sums = saved
    g = torch.zeros_like(first) if g is None else g.contiguous()
    if _may_launch(x, options):
        dx = x if in_place else torch.empty_like(x, memory_format=torch.contiguous_format)
        of_entropy = None if h is None else (h.contiguous(), entropies)
        arguments = options, tensors, dx, g, sums, None, of_entropy, g_scale
        try:
            _on_device(x, _kernels().backward, *arguments)
        except Exception as error:
            _note_failure(x, options, error)
        else:
            return dx
    g = g if g_scale is None else g * g_scale
    return gradient_by_torch(g.expand(first.shape), h, tensors, saved, options)


class EagerValues(torch.autograd.Function):
    """Differentiate for eager callers, in less host time than the operator takes."""

    @staticmethod
    def forward(ctx, x, tensors: RowTensors, options: Options, in_place: bool):
        first, entropies, sums = values(tensors, options)
        ctx.save_for_backward(x, *tensors[1:], entropies, sums)
        ctx.options, ctx.in_place, ctx.shape = options, in_place, first.shape
        ctx.set_materialize_grads(False)
        return first, entropies

    @staticmethod
    def backward(ctx, g, h):
        x, index, temperature, kept, entropies, sums = ctx.saved_tensors
        if g is None and h is None:
            return (None,) * 4
        g = sums.new_zeros(ctx.shape) if g is None else g
        if torch.is_grad_enabled():  # the caller wants the derivative of this derivative
            tensors = RowTensors(x, index, temperature, kept)
            return gradient_by_torch(g, h, tensors, None, ctx.options), None, None, None
        tensors, saved = RowTensors(x.detach(), index, temperature, kept), (g, entropies, sums)
        return gradient(g, h, tensors, saved, ctx.options, ctx.in_place), None, None, None


class EagerMean(torch.autograd.Function):
    """Compute the mean or the sum of losses, and the gradient by x at once."""

    @staticmethod
    def forward(ctx, x, tensors: RowTensors, options: Options, is_sum: bool):
        losses, _, sums = values(tensors, options)
        means = mean_of_losses(losses, tensors, options, is_sum)
        ctx.save_for_backward(x, tensors.index, losses, sums, means)
        ctx.options = options
        return means[0]

    @staticmethod
    def backward(ctx, g):
        x, index, losses, sums, means = ctx.saved_tensors
        if torch.is_grad_enabled():
            g = (g * means[1]).expand(losses.shape)
            dx = gradient_by_torch(g, None, RowTensors(x, index), None, ctx.options)
        else:
            tensors, saved = RowTensors(x.detach(), index), (losses, None, sums)
            dx = gradient(g, None, tensors, saved, ctx.options, g_scale=means[1:])
        return dx, None, None, None


def mean_of_losses(losses: Tensor, tensors: RowTensors, options: Options, is_sum: bool) -> Tensor:
    """Return (the mean or the sum of losses, what the gradient by each is multiplied by)."""
    if losses.is_cuda and not _failed:
        means = _empty((2,), losses)
        arguments = losses, tensors.index, means, options.ignore_index, is_sum
        _on_device(losses, _kernels().loss_mean, *arguments)
        return means
    scale = losses.new_ones(())
    if not is_sum:
        scale = 1 / (tensors.index.view(-1) != options.ignore_index).sum()
    return torch.stack([losses.sum() * scale, scale])


OPTIONS = "str operation, float temperature, int ignore_index, float smoothing, float z_loss"
TENSORS = "Tensor x, Tensor? index, Tensor? temperatures, Tensor? kept"


@custom_op(
    "softmax_bench::row_values",
    mutates_args=(),
    schema=f"({TENSORS}, {OPTIONS}) -> (Tensor, Tensor, Tensor)",
)
def row_values(x, index, temperatures, kept, *options):
    first, entropies, sums = values(RowTensors(x, index, temperatures, kept), Options(*options))
    return first, x.new_empty(0, dtype=torch.float32) if entropies is None else entropies, sums


@row_values.register_fake
def _(x, index, temperatures, kept, *options):
    new = functools.partial(x.new_empty, dtype=torch.float32)
    has_entropy = options[0] == "TokenLogProbEntropy"
    first = new(x.shape[:1] if index is None else index.shape)
    return first, new(x.shape[:1] if has_entropy else 0), new((2, x.shape[0]))


@custom_op(
    "softmax_bench::row_gradient",
    mutates_args=(),
    schema=f"(Tensor? g, Tensor? h, {TENSORS}, Tensor first, Tensor entropies, Tensor sums, "
    f"{OPTIONS}) -> Tensor",
)
def row_gradient(g, h, x, index, temperatures, kept, first, entropies, sums, *options):
    tensors = RowTensors(x, index, temperatures, kept)
    return gradient(g, h, tensors, (first, entropies, sums), Options(*options))


@row_gradient.register_fake
def _(g, h, x, *_):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _save(ctx, inputs, output) -> None:
    ctx.options = inputs[4:]
    ctx.save_for_backward(*inputs[:4], *output)
    ctx.has_entropy = inputs[4] == "TokenLogProbEntropy"


def _backward(ctx, g, h, *_):
    dx = row_gradient(g, h if ctx.has_entropy else None, *ctx.saved_tensors, *ctx.options)
    return dx, *(None for _ in range(3 + len(Options._fields)))


row_values.register_autograd(_backward, setup_context=_save)


def rows_of(x: Tensor) -> Tensor:
    """Return x (…, N) as a matrix with adjacent columns, a copy only where it must be."""
    matrix = x if x.dim() == 2 else x.reshape(-1, x.shape[-1])
    return matrix if matrix.stride(1) == 1 or x.shape[-1] == 1 else matrix.contiguous()


def compute(
    tensors: RowTensors, options: Options, in_place: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Return the first values and the entropies of rows, by a kernel where one takes them."""
    x = tensors.x
    if is_dynamo_compiling():
        return (row_values(*tensors, *options) if takes(x) else by_torch(tensors, options))[:2]
    if not bypasses_dispatcher(x):
        special = transforms() or not takes(x)
        return (by_torch(tensors, options) if special else row_values(*tensors, *options))[:2]
    if not takes(x):
        return by_torch(tensors, options)[:2]
    if x.requires_grad and torch.is_grad_enabled():
        return EagerValues.apply(x, tensors, options, in_place)
    return values(tensors, options, keeps_sums=False)[:2]


def compute_mean(tensors: RowTensors, options: Options, is_sum: bool) -> Tensor:
    """Return the mean or the sum of the losses that ``compute`` returns."""
    x = tensors.x
    eager = not is_dynamo_compiling() and bypasses_dispatcher(x)
    if eager and takes(x) and x.requires_grad and torch.is_grad_enabled():
        return EagerMean.apply(x, tensors, options, is_sum)
    losses, _ = compute(tensors, options)
    if eager and takes(x):
        return mean_of_losses(losses, tensors, options, is_sum)[0]
    if is_sum:
        return losses.sum()
    return losses.sum() / (tensors.index != options.ignore_index).sum()
