"""Define the functions of logits: ``logsumexp``, ``token_log_probs`` and ``cross_entropy``."""

import torch
from torch import Tensor, is_autocast_enabled

from .logits import Options, RowTensors, compute, rows_of, takes

_logsumexp_of_torch = torch.logsumexp
_cross_entropy_of_torch = torch.nn.functional.cross_entropy


def logsumexp(input: Tensor, dim: int | tuple[int, ...], keepdim: bool = False) -> Tensor:
    """Return ``torch.logsumexp(input, dim, keepdim)``, which reads each element once.

    Differentiable. Rows, over the last dimension, of float32, float16 and bfloat16 on an NVIDIA GPU
    are computed by a kernel, in float32; the result has input's dtype. torch computes all else, and
    raises what it raises.
    """
    dims = dim if isinstance(dim, int) else dim[0] if len(dim) == 1 else None
    rank = input.dim()
    if dims is None or dims not in (-1, rank - 1) or rank == 0 or not takes(input):
        return _logsumexp_of_torch(input, dim, keepdim)
    shape = input.shape[:-1]
    y, _ = compute(RowTensors(rows_of(input), None, None, None), Options("LogSumExp"))
    y = y.view(*shape, 1) if keepdim else y.view(shape)
    return y.to(input.dtype)


def token_log_probs(
    logits: Tensor,
    index: Tensor,
    *,
    temperature: float | Tensor = 1.0,
    entropy: bool = False,
    row_mask: Tensor | None = None,
    inplace_backward: bool = False,
    group: "torch.distributed.ProcessGroup | None" = None,
    vocab_start: int = 0,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return log(softmax(logits / temperature)) at some tokens of each row, in float32.

    logits (…, V) are float32, float16 or bfloat16. ``index`` is an integer tensor of shape (…), or
    (…, K) for K tokens of each row; the result has its shape. With ``entropy`` the result is a
    pair: the log-probabilities, and each row's entropy (…), where a logit of -inf adds 0.
    Differentiable by logits. ``temperature`` is a number or a tensor (…), above 0, without a
    gradient.
    ``row_mask`` (…): rows where it is 0 have values and gradients 0, whatever they hold.
    ``inplace_backward``: the gradient takes the memory of logits, which nothing may need then.
    ``group``: each of its processes has the columns of the vocabulary from ``vocab_start`` on; an
    index counts all columns, and every process gets the whole result.

    A row has the same bits in any batch, at any address, with and without gradients. A token whose
    index is outside its row has log-probability NaN. Raises ValueError for shapes that do not
    match, TypeError for an index that is not integral.
    """
    shape, index = logits.shape[:-1], _checked(logits, index)
    matrix = index.reshape(-1, 1 if index.shape == shape else index.shape[-1]).long()
    by_row = isinstance(temperature, Tensor) and temperature.dim() > 0
    tensors = RowTensors(
        rows_of(logits),
        matrix.contiguous(),
        _rows(temperature, shape, torch.float32, "temperature") if by_row else None,
        _rows(row_mask, shape, torch.bool, "row_mask"),
    )
    options = Options(
        "TokenLogProbEntropy" if entropy else "TokenLogProb",
        1.0 if by_row else float(temperature),
    )
    if group is not None:
        from .sharded import sharded_log_probs

        log_p, entropies = sharded_log_probs(tensors, options, group, vocab_start)
    else:
        log_p, entropies = compute(tensors, options, inplace_backward)
    log_p = log_p.view(index.shape)
    return (log_p, entropies.view(shape)) if entropy else log_p


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    *,
    z_loss: float = 0.0,
) -> Tensor:
    """Return ``torch.nn.functional.cross_entropy``'s result, plus z_loss · logsumexp² of each row.

    A kernel computes input (N, C) or (C,) of float32, float16 or bfloat16 on an NVIDIA GPU with
    int64 classes and without ``weight``, in float32; the result has torch's dtype. Elsewhere torch
    computes it. A target that is no class and not ``ignore_index`` gives NaN, where torch stops.
    Raises what torch raises, and ValueError for a ``z_loss`` of what the kernel does not take.
    """
    reduction = _reduction(size_average, reduce, reduction)
    rows = input if input.dim() == 2 else input[None]
    plain = weight is None and 1 <= input.dim() <= 2 and target.dtype == torch.int64
    if not (plain and target.shape == input.shape[:-1] and (takes(input) or z_loss)):
        if z_loss:
            raise ValueError("z_loss needs input (N, C) or (C,), int64 classes and no weight")
        return _cross_entropy_of_torch(
            input, target, weight, None, ignore_index, None, reduction, label_smoothing
        )
    operation = "SmoothedCrossEntropy" if label_smoothing else "CrossEntropy"
    options = Options(operation, 1.0, ignore_index, label_smoothing, z_loss)
    index = target.reshape(-1, 1).contiguous()
    losses, _ = compute(RowTensors(rows_of(rows), index, None, None), options)
    if reduction == "mean":
        losses = losses.sum() / (target != ignore_index).sum()
    elif reduction == "sum":
        losses = losses.sum()
    else:
        losses = losses.view(target.shape)
    return losses if is_autocast_enabled("cuda") else losses.to(input.dtype)


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    if size_average is not None or reduce is not None:
        return torch.nn._reduction.legacy_get_string(size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction = {reduction!r}; allowed: 'none', 'mean', 'sum'")
    return reduction


def _checked(logits: Tensor, index: Tensor) -> Tensor:
    shape = logits.shape[:-1]
    if logits.dim() == 0 or index.shape not in (shape, (*shape, *index.shape[-1:])):
        raise ValueError(
            f"index has shape {tuple(index.shape)}; logits {tuple(logits.shape)} need "
            f"{tuple(shape)}, or one dimension more"
        )
    if index.is_floating_point() or index.is_complex() or index.dtype == torch.bool:
        raise TypeError(f"index is {index.dtype}; an integer tensor is needed, such as int64")
    return index


def _rows(x: Tensor | None, shape: torch.Size, dtype: torch.dtype, name: str) -> Tensor | None:
    if x is None:
        return None
    if x.shape != shape:
        raise ValueError(f"{name} has shape {tuple(x.shape)}; allowed: {tuple(shape)}")
    return (x != 0 if dtype is torch.bool else x.detach().to(dtype)).reshape(-1).contiguous()


for _function in (logsumexp, token_log_probs, cross_entropy):
    _function.__module__ = __package__.partition(".")[0]  # for help(), tracebacks and pickle
