"""Compute with torch's functions what the kernels of logits compute: values per row and gradients.

Every step is differentiable with respect to the logits, so derivatives of any order exist. Special
values are treated as in the kernels: a logit of -inf adds nothing, and a row that is not used gives
zeros. Indexing by brackets and ~ are avoided, because they access the GPU even of a fake tensor.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from ...logits import RowOptions, RowTensors

# (values, entropies or None, sums). ``sums`` (2, M) are what the gradient needs: the maxima, and
# log Σ exp((x - max) / temperature). If there are entropies, a third row repeats them, because
# callers may modify what they get.
Values = tuple[Tensor, Tensor, Tensor]


class RowIntermediates(NamedTuple):
    """Hold what torch computes for each row, differentiable with respect to x."""

    used: Tensor  # bool (M,): rows that are neither masked nor ignored
    maxima: Tensor  # (M,), treated as constants
    log_sums: Tensor  # (M,): log Σ exp((x - max) / temperature)
    log_p: Tensor  # (M, N)
    inverse: Tensor | float  # 1 / temperature, (M, 1)


def _intermediates(
    tensors: RowTensors, options: RowOptions, sums: Tensor | None = None
) -> RowIntermediates:
    """Return the intermediate values of rows; ``sums`` are a forward's, if there was one."""
    x, index, temperature, row_mask = tensors
    used = (
        torch.ones(len(x), dtype=torch.bool, device=x.device)
        if row_mask is None
        else row_mask.bool()
    )
    if options.operation.endswith("CrossEntropy"):
        used = used & (index.view(-1) != options.ignore_index)
    # Rows that are not used may hold anything, and it must not reach a gradient.
    x = (x if x.dtype is torch.float64 else x.float()).masked_fill(
        used.logical_not().unsqueeze(1), 0.0
    )
    inverse = 1 / options.temperature if temperature is None else 1 / temperature.unsqueeze(1)
    if sums is None:
        maxima, log_sums = _sums(x, inverse)
    else:
        maxima, log_sums, *_ = sums
    log_p = (x - maxima.unsqueeze(1)) * inverse - log_sums.unsqueeze(1)
    return RowIntermediates(used, maxima, log_sums, log_p, inverse)


def _sums(x: Tensor, inverse: Tensor | float) -> tuple[Tensor, Tensor]:
    """Return (maxima, log_sums) of rows; the maximum's own exp is 1, and is left out of the sum."""
    if not x.shape[1]:
        return x.new_full((len(x),), -torch.inf), x.new_zeros(len(x))
    maxima, where = x.detach().max(1, keepdim=True)
    # The differences in a row of nothing but -inf would be NaN; its log_sum is 0.
    distances = (x - maxima).masked_fill(maxima == -torch.inf, 0.0) * inverse
    remainder = distances.exp().scatter(1, where, 0.0).sum(1)
    largest = distances.gather(1, where).squeeze(1).expm1()  # 0, but with the derivative of exp
    log_sums = (remainder + largest).log1p()
    return maxima.squeeze(1), log_sums.masked_fill(maxima.squeeze(1) == -torch.inf, 0.0)


def _entropy(log_p: Tensor) -> Tensor:
    return -(log_p.exp() * log_p.masked_fill(log_p == -torch.inf, 0.0)).sum(1)


def at(matrix: Tensor, columns: Tensor) -> Tensor:
    """Return the elements of a matrix (M, N) at columns (M, K); NaN in rows without a column."""
    if matrix.shape[1]:
        return matrix.gather(1, columns)
    return matrix.sum(1, keepdim=True) + matrix.new_full(columns.shape, torch.nan)


def columns_of(tensors: RowTensors) -> tuple[Tensor, Tensor]:
    """Return the index as (M, K), 0 where it is outside the row, and whether it is inside."""
    rows = len(tensors.x)
    index = tensors.index.reshape(rows, tensors.index.numel() // max(rows, 1))
    inside = (index >= 0) & (index < tensors.x.shape[1])
    return index.masked_fill(inside.logical_not(), 0), inside


def values_by_torch(tensors: RowTensors, options: RowOptions) -> Values:
    """Return what ``rows.values`` returns, computed by torch."""
    x = tensors.x
    rows = _intermediates(tensors, options)
    used, entropies = rows.used, None
    logsumexp = (rows.maxima.unsqueeze(1) * rows.inverse).squeeze(1) + rows.log_sums
    if options.operation == "LogSumExp":
        # The sum of a row with +inf is NaN, even if no element is.
        infinite = (rows.maxima == torch.inf) & x.isnan().any(1).logical_not()
        first = torch.where(infinite, rows.maxima, logsumexp)
    else:
        columns, inside = columns_of(tensors)
        first = at(rows.log_p, columns).masked_fill(inside.logical_not(), torch.nan)
    if options.operation == "TokenLogProbEntropy":
        entropies = _entropy(rows.log_p).masked_fill(used.logical_not(), 0.0)
    if options.operation.endswith("CrossEntropy"):
        smoothing, first = options.label_smoothing, -first.view(-1)
        if smoothing:
            first = (1 - smoothing) * first - smoothing * rows.log_p.mean(1)
        if options.z_loss:
            first = first + (options.z_loss * logsumexp) * logsumexp  # a square may be infinite
    if tensors.index is not None:  # the index's shape, in new memory
        used = used.view(-1, 1).expand(len(x), first.numel() // max(len(x), 1))
        first, used = (value.reshape(tensors.index.shape) for value in (first, used))
    sums = rows.maxima, rows.log_sums, *(() if entropies is None else (entropies,))
    return first.masked_fill(used.logical_not(), 0.0), entropies, torch.stack(sums)


def gradient_by_torch(
    g: Tensor, h: Tensor | None, tensors: RowTensors, sums: Tensor | None, options: RowOptions
) -> Tensor:
    """Return the gradient with respect to x, computed by torch.

    It is differentiable with respect to g, h and, without ``sums``, x.
    """
    x = tensors.x
    if not x.shape[1]:
        return torch.zeros_like(x)
    rows = _intermediates(tensors, options, sums)
    p = rows.log_p.exp()
    if options.operation == "LogSumExp":
        dx = g.unsqueeze(1) * p
    elif options.operation.endswith("CrossEntropy"):
        smoothing, (columns, inside) = options.label_smoothing, columns_of(tensors)
        target = torch.zeros_like(p).scatter(1, columns, inside.float())
        dx = p - (1 - smoothing) * target
        if options.z_loss:
            dx = dx + p * (2 * options.z_loss * (rows.maxima + rows.log_sums).unsqueeze(1))
        dx = g.view(-1, 1) * (dx - smoothing / x.shape[1])
    else:
        columns, inside = columns_of(tensors)
        by_column = g.reshape(columns.shape)
        dx = torch.zeros_like(p).scatter_add(1, columns, by_column * inside)
        dx = dx - p * by_column.sum(1, keepdim=True)
    if h is not None:
        entropy = _entropy(rows.log_p) if sums is None else sums[2]
        from_mean = (rows.log_p + entropy.unsqueeze(1)).masked_fill(p == 0, 0.0)
        dx = dx - h.unsqueeze(1) * p * from_mean
    return (dx * rows.inverse).masked_fill(rows.used.logical_not().unsqueeze(1), 0.0).to(x.dtype)
