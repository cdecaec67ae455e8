"""Merge log-probabilities over the processes of a group, each of which has some of the columns.

Two all-reduces move a few numbers per row, however long it is. The first finds the row's maximum.
The second sums the other exps, the number of shards that have the maximum, the target's logit,
whether a shard has the target and, for the entropy, the mean logit.
"""

import torch
import torch.distributed as dist
from torch import Tensor

from ...logits import RowOptions, RowTensors
from .by_torch import at, columns_of
from .rows import gradient, values


class _Sharded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, index, temperature, row_mask, options: RowOptions, group, vocab_start: int):
        columns, inside = columns_of(RowTensors(x, index - vocab_start))
        # The index -1 matches no column, so a shard without the target gets no one-hot gradient.
        own = columns.masked_fill(~inside, -1).view(index.shape)
        tensors = RowTensors(x, own, temperature, row_mask)
        _, entropy, sums = values(tensors, options)
        maxima, log_sums, *_ = sums
        inverse = 1.0 / (options.temperature if temperature is None else temperature)
        top = maxima.clone()
        dist.all_reduce(top, dist.ReduceOp.MAX, group)
        log_share = (maxima - top) * inverse + log_sums  # log of this shard's part of the sum
        # The largest logit's 1 is counted separately: beside it the other exps would be lost.
        share, has_top = log_share.exp(), maxima == top
        beside = torch.where(has_top, log_share.expm1(), share)
        mine = at(x, columns).float() - top[:, None]
        parts = [beside[:, None], has_top[:, None].float()]
        parts += [mine.masked_fill(~inside, 0.0), inside.float()]
        if options.operation == "TokenLogProbEntropy":
            # mean distance from the shard's maximum, over its own probabilities
            mean = log_share - entropy
            parts.append((share * mean).masked_fill(share == 0, 0.0)[:, None])
        summed = torch.cat(parts, 1)
        dist.all_reduce(summed, dist.ReduceOp.SUM, group)
        count = columns.shape[1]
        targets, owners = summed[:, 2 : 2 + count], summed[:, 2 + count : 2 + 2 * count]
        beside_top = summed[:, 0] + (summed[:, 1] - 1)  # further shards may have the same maximum
        log_total = beside_top.log1p()
        scale = inverse[:, None] if isinstance(inverse, Tensor) else inverse
        log_p = torch.where(owners > 0, targets * scale - log_total[:, None], torch.nan)
        if options.operation == "TokenLogProbEntropy":
            entropy = log_total - summed[:, -1] / (1 + beside_top)
        if row_mask is not None:
            log_p = log_p.masked_fill(~row_mask[:, None], 0.0)
            entropy = None if entropy is None else entropy.masked_fill(~row_mask, 0.0)
        sums = top, log_total, *(() if entropy is None else (entropy,))
        ctx.save_for_backward(*tensors, torch.stack(sums))
        ctx.options = options
        ctx.set_materialize_grads(False)
        return log_p.view(index.shape), entropy

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g, h):
        *tensors, sums = ctx.saved_tensors
        tensors = RowTensors(*tensors)
        g = torch.zeros_like(tensors.index, dtype=torch.float32) if g is None else g
        return gradient(g, h, tensors, sums, ctx.options), *(None,) * 6


def sharded_log_probs(
    tensors: RowTensors, options: RowOptions, group: "dist.ProcessGroup", vocab_start: int
) -> tuple[Tensor, Tensor]:
    """Return the log-probabilities (M, K) and entropies (M,) of rows over all shards."""
    return _Sharded.apply(*tensors, options, group, vocab_start)
