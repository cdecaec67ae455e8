"""Compute log-probabilities of tokens, entropies, log-sum-exps and losses from rows of logits.

A call on an NVIDIA GPU with cuda-core runs one kernel that reads each logit once, and its backward
one that reads and writes each once; the forward saves two numbers of a row. Anything else is
computed by torch's own functions: other devices and dtypes, torch.func's transforms, the derivative
of a derivative. Compilers see the operators ``softmax_bench::row_values`` and ``::row_gradient``.
"""

import functools
import importlib.util
import logging
from typing import NamedTuple

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling
from torch.library import custom_op

from ..contract import LONGEST_ROW, MAX_BLOCKS, MIN_CAPABILITY
from ..tensors import DTYPES
from .eligible import FAKE_TENSORS, TYPES, bypasses_dispatcher, transforms

NO_INDEX = -(2**63)  # no column is ignored
logger = logging.getLogger(__package__.partition(".")[0])


class Options(NamedTuple):
    """Hold what a call computes, beside its tensors."""

    operation: str  # of logits_forward.cu
    temperature: float = 1.0
    ignore_index: int = NO_INDEX
    label_smoothing: float = 0.0
    z_loss: float = 0.0


class RowTensors(NamedTuple):
    """Hold the tensors of a call, of which x alone has a gradient."""

    x: Tensor  # (M, N), with adjacent columns
    index: Tensor | None  # int64 (M, K)
    temperature: Tensor | None  # float32 (M,), in place of ``Options.temperature``
    kept: Tensor | None  # bool (M,)


Values = tuple[Tensor, Tensor, Tensor, Tensor]  # first, entropies, maxima, log_sums


class LogSoftmax(NamedTuple):
    """Hold what torch computes of rows: every step of it differentiable by x."""

    used: Tensor  # bool (M,): rows whose values count
    maxima: Tensor  # (M,), a constant
    log_sums: Tensor  # (M,): log Σ exp((x - max) / temperature)
    log_p: Tensor  # (M, N)
    inverse: Tensor | float  # 1 / temperature, (M, 1)


def _log_softmax(tensors: RowTensors, options: Options, sums=None) -> LogSoftmax:
    """Return it by torch; ``sums``: maxima and log_sums, where they are known."""
    x, index, temperature, kept = tensors
    used = torch.ones(len(x), dtype=torch.bool, device=x.device) if kept is None else kept.bool()
    if options.operation.endswith("CrossEntropy"):
        used = used & (index[:, 0] != options.ignore_index)
    # Rows that are not used may hold anything, which no gradient may see.
    x = torch.where(used[:, None], x.float(), 0.0)
    inverse = 1 / options.temperature if temperature is None else 1 / temperature[:, None]
    if sums is None:
        maxima = x.detach().amax(1) if x.shape[1] else x.new_full((len(x),), -torch.inf)
        # A row of -inf alone has no distances, and a sum of 0.
        distances = (x - maxima[:, None]).masked_fill(maxima[:, None] == -torch.inf, 0.0)
        sums = maxima, torch.logsumexp(distances * inverse, 1)
    maxima, log_sums = sums
    log_p = (x - maxima[:, None]) * inverse - log_sums[:, None]
    return LogSoftmax(used, maxima, log_sums, log_p, inverse)


def _entropy(log_p: Tensor) -> Tensor:
    return -(log_p.exp() * log_p.masked_fill(log_p == -torch.inf, 0.0)).sum(1)


def by_torch(tensors: RowTensors, options: Options) -> Values:
    """Return what the kernels compute, by torch."""
    x, index, *_ = tensors
    rows = _log_softmax(tensors, options)
    entropies = x.new_empty(0, dtype=torch.float32)
    logsumexp = rows.maxima * (
        rows.inverse if isinstance(rows.inverse, float) else rows.inverse[:, 0]
    )
    logsumexp = logsumexp + rows.log_sums
    if options.operation == "LogSumExp":
        infinite = rows.maxima == torch.inf  # the sum is NaN, even if no element is
        no_nan = ~x.isnan().any(1)
        first = torch.where(infinite & no_nan, rows.maxima, logsumexp)
    else:
        inside = (index >= 0) & (index < x.shape[1])
        first = rows.log_p.gather(1, index.where(inside, 0)) if x.shape[1] else index.float()
        first = torch.where(inside, first, torch.nan)
    if options.operation == "TokenLogProbEntropy":
        entropies = torch.where(rows.used, _entropy(rows.log_p), 0.0)
    if options.operation.endswith("CrossEntropy"):
        smoothing, first = options.label_smoothing, -first[:, 0]
        if smoothing:
            first = (1 - smoothing) * first - smoothing * rows.log_p.mean(1)
        first = first + options.z_loss * logsumexp**2
    used = rows.used.view(-1, *(1 for _ in first.shape[1:]))
    return torch.where(used, first, 0.0), entropies, rows.maxima, rows.log_sums


def gradient_by_torch(
    g: Tensor, h: Tensor | None, tensors: RowTensors, saved: Values | None, options: Options
) -> Tensor:
    """Return the gradient by x, by torch; differentiable by g, h and, without ``saved``, by x."""
    x, index, *_ = tensors
    rows = _log_softmax(tensors, options, None if saved is None else saved[2:])
    p = rows.log_p.exp()
    if options.operation == "LogSumExp":
        dx = g[:, None] * p
    elif options.operation.endswith("CrossEntropy"):
        smoothing = options.label_smoothing
        inside = (index >= 0) & (index < x.shape[1])
        target = torch.zeros_like(p).scatter(1, index.where(inside, 0), inside.float())
        logsumexp = (rows.maxima + rows.log_sums)[:, None]
        dx = p * (1 + 2 * options.z_loss * logsumexp) - (1 - smoothing) * target
        dx = g[:, None] * (dx - smoothing / x.shape[1])
    else:
        inside = (index >= 0) & (index < x.shape[1])
        dx = torch.zeros_like(p).scatter_add(1, index.where(inside, 0), g * inside)
        dx = dx - p * g.sum(1, keepdim=True)
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


_failed: set[tuple] = set()  # (operation, device, dtype, N), which torch computes from then on


def takes(x: Tensor) -> bool:
    """Return whether a kernel may compute rows of x, (…, N); a compiler may trace it."""
    return (
        x.is_cuda
        and x.dtype in DTYPES
        and (type(x) in TYPES or isinstance(x, FAKE_TENSORS))
        and _runs_on(x.get_device())
    )


def _launch(compute, tensors: RowTensors, options: Options) -> bool:
    """Return whether ``compute(settings)`` has launched; log the first failure of each kind."""
    x = tensors.x
    rows, cols = x.shape
    kind = options.operation, x.get_device(), x.dtype, cols
    if not x.is_cuda or not 0 < cols <= LONGEST_ROW or rows > MAX_BLOCKS // 2**11:
        return False
    if kind in _failed:
        return False
    from ..logits.launch import Settings  # here, because a machine without a GPU needs none of it

    temperature = options.temperature if tensors.temperature is None else tensors.temperature
    numbers = options.ignore_index, options.label_smoothing, options.z_loss
    try:
        with torch.cuda.device(x.device):
            compute(Settings(temperature, tensors.kept, *numbers))
    except Exception as error:
        if isinstance(error, torch.OutOfMemoryError):
            raise
        _failed.add(kind)
        text = "%s in CUDA C++ failed on cuda:%d at rows of %d; torch computes it. %s: %s"
        logger.warning(text, *kind[:2], cols, type(error).__name__, error)
        return False
    return True


def _new_values(tensors: RowTensors, options: Options) -> Values:
    """Return new tensors for the values; those of the entropies are empty if there are none."""
    x, index, *_ = tensors
    rows = len(x)
    columns = () if index is None or options.operation.endswith("CrossEntropy") else index.shape[1:]
    first = x.new_empty((rows, *columns), dtype=torch.float32)
    has_entropy = options.operation == "TokenLogProbEntropy"
    entropies = x.new_empty(rows if has_entropy else 0, dtype=torch.float32)
    maxima, log_sums = (x.new_empty(rows, dtype=torch.float32) for _ in range(2))
    return first, entropies, maxima, log_sums


def values(tensors: RowTensors, options: Options) -> Values:
    """Return the values of each row, and what their gradient needs."""
    x, index, *_ = tensors
    first, entropies, maxima, log_sums = _new_values(tensors, options)
    second = entropies if len(entropies) else None

    def launch(settings) -> None:
        from ..logits import launch

        launch.forward(options.operation, x, index, first, second, (maxima, log_sums), settings)

    if len(x) and not _launch(launch, tensors, options):
        return by_torch(tensors, options)
    return first, entropies, maxima, log_sums


def gradient(
    g: Tensor | None,
    h: Tensor | None,
    tensors: RowTensors,
    saved: Values,
    options: Options,
    in_place: bool = False,
) -> Tensor:
    """Return the gradient by x, from those by the values (g) and the entropies (h)."""
    x, index, *_ = tensors
    first, entropies, maxima, log_sums = saved
    g = torch.zeros_like(first) if g is None else g.contiguous()
    dx = x if in_place else torch.empty_like(x, memory_format=torch.contiguous_format)
    of_entropy = (None, None) if h is None else (h.contiguous(), entropies)
    operation = {
        "TokenLogProbEntropy": "TokenLogProb",
        "SmoothedCrossEntropy": "CrossEntropy",
    }.get(options.operation, options.operation)

    def launch(settings) -> None:
        from ..logits import launch

        sums = maxima, log_sums
        launch.backward(operation, x, index, dx, g, sums, *of_entropy, settings)

    if len(x) and not _launch(launch, tensors, options):
        return gradient_by_torch(g, h, tensors, saved, options)
    return dx


class EagerValues(torch.autograd.Function):
    """Differentiate for eager callers, in less host time than the operator takes."""

    @staticmethod
    def forward(ctx, x, index, temperature, kept, options: Options, in_place: bool):
        tensors = RowTensors(x, index, temperature, kept)
        first, entropies, maxima, log_sums = values(tensors, options)
        ctx.save_for_backward(x, index, temperature, kept, first, entropies, maxima, log_sums)
        ctx.options, ctx.in_place = options, in_place
        ctx.set_materialize_grads(False)
        return first, entropies

    @staticmethod
    def backward(ctx, g, h):
        *tensors, first, entropies, maxima, log_sums = ctx.saved_tensors
        tensors, nothing = RowTensors(*tensors), (None,) * 5
        if g is None and h is None:
            return None, *nothing
        if torch.is_grad_enabled():  # the caller wants the derivative of this derivative
            g = torch.zeros_like(first) if g is None else g
            return gradient_by_torch(g, h, tensors, None, ctx.options), *nothing
        saved = first, entropies, maxima, log_sums
        detached = tensors._replace(x=tensors.x.detach())
        return gradient(g, h, detached, saved, ctx.options, ctx.in_place), *nothing


OPTIONS = "str operation, float temperature, int ignore_index, float smoothing, float z_loss"
TENSORS = "Tensor x, Tensor? index, Tensor? temperatures, Tensor? kept"


@custom_op(
    "softmax_bench::row_values",
    mutates_args=(),
    schema=f"({TENSORS}, {OPTIONS}) -> (Tensor, Tensor, Tensor, Tensor)",
)
def row_values(x, index, temperatures, kept, *options):
    return values(RowTensors(x, index, temperatures, kept), Options(*options))


@row_values.register_fake
def _(x, index, temperatures, kept, *options):
    return _new_values(RowTensors(x, index, temperatures, kept), Options(*options))


@custom_op(
    "softmax_bench::row_gradient",
    mutates_args=(),
    schema=f"(Tensor? g, Tensor? h, {TENSORS}, Tensor first, Tensor entropies, Tensor maxima, "
    f"Tensor log_sums, {OPTIONS}) -> Tensor",
)
def row_gradient(g, h, x, index, temperatures, kept, first, entropies, maxima, log_sums, *options):
    tensors, saved = RowTensors(x, index, temperatures, kept), (first, entropies, maxima, log_sums)
    return gradient(g, h, tensors, saved, Options(*options))


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
    matrix = x.reshape(-1, x.shape[-1]) if x.dim() != 2 else x
    return matrix if matrix.stride(1) == 1 or x.shape[-1] == 1 else matrix.contiguous()


def compute(tensors: RowTensors, options: Options, in_place: bool = False) -> tuple[Tensor, Tensor]:
    """Return the first values and the entropies of rows, by a kernel where one takes them."""
    x = tensors.x
    if not takes(x) or (not is_dynamo_compiling() and transforms()):
        return by_torch(tensors, options)[:2]
    if is_dynamo_compiling() or not bypasses_dispatcher(x):
        return row_values(*tensors, *options)[:2]
    if x.requires_grad and torch.is_grad_enabled():
        return EagerValues.apply(*tensors, options, in_place)
    return values(tensors, options)[:2]
