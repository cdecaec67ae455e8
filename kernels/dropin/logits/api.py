"""Define the functions of logits: ``logsumexp``, ``token_log_probs`` and ``cross_entropy``."""

import torch
from torch import Tensor, is_autocast_enabled

from ...logits import RowOptions, RowTensors
from ..eligible import as_int
from .loss import compute_loss
from .rows import as_rows, compute, takes

LOGSUMEXP = RowOptions("LogSumExp")
REDUCTIONS = "none", "mean", "sum"
MIN_TEMPERATURE = 1e-38  # its inverse is still a float32 number
# looked up now, because a user may replace torch's functions with this module's later
_logsumexp_of_torch = torch.logsumexp
_cross_entropy_of_torch = torch.nn.functional.cross_entropy


def logsumexp(input: Tensor, dim: int | tuple[int, ...], keepdim: bool = False) -> Tensor:
    """Return ``torch.logsumexp(input, dim, keepdim)``, but read each element only once.

    Differentiable. A kernel computes the last dimension of float32, float16 and bfloat16 on an
    NVIDIA GPU, in float32; the result has input's dtype. torch computes everything else, and raises
    its own errors.
    """
    is_list = isinstance(dim, (tuple, list))
    only_dim = dim[0] if is_list and len(dim) == 1 else dim
    rank = input.dim() if isinstance(input, Tensor) else 0
    is_last = rank > 0 and type(only_dim) is int and only_dim in (-1, rank - 1)
    if not (is_last and type(keepdim) is bool and input.shape[-1] and takes(input)):
        return _logsumexp_of_torch(input, dim, keepdim)
    y, _ = compute(RowTensors(as_rows(input)), LOGSUMEXP)
    if keepdim or rank != 2:
        y = y.view(*input.shape[:-1], *[1] * keepdim)
    return y if _returns_float32(input) else y.to(input.dtype)


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

    >>> token_log_probs(model(tokens[:, :-1]).logits, tokens[:, 1:])

    logits (…, V) are float32, float16 or bfloat16. ``index`` is an integer tensor of shape (…), or
    (…, K) for K tokens of each row; the result has its shape. With ``entropy`` the result is a
    pair: the log-probabilities, and each row's entropy (…), where a logit of -inf adds 0.
    Differentiable with respect to logits. ``temperature`` is a number or a tensor (…), above 0,
    without a gradient; the values of a tensor are not checked.
    ``row_mask`` (…): rows where it is 0 get value 0 and gradient 0, even if they hold NaN.
    ``inplace_backward``: the backward overwrites logits with the gradient; do not use them
    afterwards. It has no effect on a leaf or a view of one, on overlapping rows, under a compiler,
    with ``group``, or on a CPU.
    ``group``: each rank holds a shard of the vocabulary from ``vocab_start`` on; ``index`` is
    global, and every rank gets the whole result. Without it, ``vocab_start`` must be 0.

    A row gives the same bits in any batch, at any address, with and without gradients. A token
    whose index is outside its row has log-probability NaN. Raises ValueError for shapes or devices
    that do not match, for a number below 1e-38 as temperature, and for a temperature or a mask that
    requires a gradient; TypeError for logits that are not floating-point numbers, an index that is
    not integral, a complex temperature, and a mask that is no tensor.
    """
    if not (isinstance(logits, Tensor) and logits.is_floating_point()):
        actual = logits.dtype if isinstance(logits, Tensor) else f"a {type(logits).__name__}"
        raise TypeError(f"logits are {actual}; a tensor of floating-point numbers is needed")
    shape = logits.shape[:-1]
    if not (
        isinstance(index, Tensor)
        and index.dtype is torch.int64
        and index.shape == shape
        and index.is_contiguous()
        and logits.dim()
    ):
        index = _checked(logits, index).long().contiguous()
    operation, by_row = "TokenLogProbEntropy" if entropy else "TokenLogProb", None
    if index.get_device() != logits.get_device():
        raise _elsewhere("index", index, logits)
    if isinstance(temperature, Tensor):
        by_row, temperature = _rows(temperature, logits, torch.float32, "temperature"), 1.0
    elif not _as_float(temperature, "temperature") >= MIN_TEMPERATURE:
        raise ValueError(
            f"temperature = {temperature}; a number of at least {MIN_TEMPERATURE} is needed"
        )
    if row_mask is not None:
        row_mask = _rows(row_mask, logits, torch.bool, "row_mask")
    tensors = RowTensors(as_rows(logits), index, by_row, row_mask)
    options = RowOptions(operation, float(temperature))
    if vocab_start and group is None:
        raise ValueError(f"vocab_start = {vocab_start} has no effect without group")
    if group is not None:
        from .sharded import sharded_log_probs

        log_p, entropies = sharded_log_probs(tensors, options, group, vocab_start)
    else:
        log_p, entropies = compute(tensors, options, inplace_backward)
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
    gradient_in_forward: bool = False,
    inplace_backward: bool = False,
) -> Tensor:
    """Return ``torch.nn.functional.cross_entropy``'s result, plus z_loss · logsumexp² of each row.

    A kernel computes it, in float32, for input (N, C) or (C,) of float32, float16 or bfloat16 on an
    NVIDIA GPU, with int64 classes and without ``weight``; the result has torch's dtype. Otherwise
    torch computes it. A target that is neither a class nor ``ignore_index`` gives NaN, where torch
    fails an assertion.

    ``gradient_in_forward``: compute the gradient together with the loss, while a row is in
    registers, so that a training step reads the logits once instead of twice. The gradient is kept
    for the backward, which can run only once and has no derivative; it takes an extra pass if the
    gradient of the loss is not 1.
    ``inplace_backward``: the gradient overwrites input, which must not be used afterwards; with
    ``gradient_in_forward`` that happens in the forward. Neither option has an effect if torch
    computes, or under a compiler; the second one has none on a leaf, a view of one, or overlapping
    rows.

    Raises what torch raises, and ValueError if ``z_loss`` is combined with something for which it
    is not defined, such as class probabilities or a weight, or if ``z_loss`` or ``label_smoothing``
    requires a gradient.
    """
    if not isinstance(z_loss, (float, int)):
        z_loss = _as_float(z_loss, "z_loss")
    if not isinstance(label_smoothing, (float, int)):
        label_smoothing = _as_float(label_smoothing, "label_smoothing")
    if size_average is not None or reduce is not None:
        reduction = _reduction(size_average, reduce)
    if type(ignore_index) is not int:
        ignore_index = as_int(ignore_index)
    is_plain = (
        weight is None
        and isinstance(target, Tensor)
        and isinstance(input, Tensor)
        and target.dtype is torch.int64
        and 1 <= (rank := input.dim()) <= 2
        and target.shape == input.shape[:-1]
        and target.get_device() == input.get_device()
        and 0 <= label_smoothing <= 1
        and reduction in REDUCTIONS
        and type(ignore_index) is int
        and -(2**63) <= ignore_index < 2**63
    )
    is_taken = is_plain and takes(input)
    if not is_taken and not (is_plain and z_loss and input.is_floating_point()):
        if z_loss:
            raise ValueError(
                "z_loss needs floating-point input (N, C) or (C,), int64 classes, no weight, an "
                "integer as ignore_index, label_smoothing from 0 to 1, and the reduction 'none', "
                "'mean' or 'sum'"
            )
        return _cross_entropy_of_torch(
            input, target, weight, None, ignore_index, None, reduction, label_smoothing
        )
    operation = "SmoothedCrossEntropy" if label_smoothing else "CrossEntropy"
    options = RowOptions(operation, 1.0, ignore_index, label_smoothing, z_loss)
    rows = as_rows(input if rank == 2 else input.unsqueeze(0))
    tensors = RowTensors(rows, target.contiguous())
    loss = compute_loss(
        tensors, options, reduction, gradient_in_forward, inplace_backward, is_taken
    )
    return loss if _returns_float32(input) else loss.to(input.dtype)


def _returns_float32(x: Tensor) -> bool:
    """Return whether torch's function would have a float32 result, as it has under autocast."""
    return x.dtype is torch.float32 or is_autocast_enabled("cuda" if x.is_cuda else x.device.type)


def _reduction(size_average: bool | None, reduce: bool | None) -> str:
    """Return the reduction that torch's older arguments, which are True by default, stand for."""
    if reduce is not None and not reduce:
        return "none"
    return "sum" if size_average is not None and not size_average else "mean"


def _as_float(value: object, name: str) -> float:
    """Return a number as a float, so that neither a later change nor a gradient can be missed."""
    if isinstance(value, str):
        raise TypeError(f"{name} is a str; a number is needed")
    if isinstance(value, Tensor) and value.requires_grad:
        raise ValueError(f"{name} requires a gradient, and gets none; detach it")
    return float(value)


def _checked(logits: Tensor, index: Tensor) -> Tensor:
    if not isinstance(index, Tensor):
        raise TypeError(f"index is a {type(index).__name__}; an integer tensor is needed")
    shape = logits.shape[:-1]
    if logits.dim() == 0 or index.shape not in (shape, (*shape, *index.shape[-1:])):
        raise ValueError(
            f"index has shape {tuple(index.shape)}; logits {tuple(logits.shape)} need "
            f"{tuple(shape)}, or one dimension more"
        )
    if index.is_floating_point() or index.is_complex() or index.dtype == torch.bool:
        raise TypeError(f"index is {index.dtype}; an integer tensor is needed, such as int64")
    return index


def _rows(x: Tensor, logits: Tensor, dtype: torch.dtype, name: str) -> Tensor:
    """Return x as a flat tensor with one value per row; a single number holds for all rows."""
    shape = logits.shape[:-1]
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} is a {type(x).__name__}; a tensor is needed")
    if x.is_complex():
        raise TypeError(f"{name} is {x.dtype}; real numbers are needed")
    if x.requires_grad:
        raise ValueError(f"{name} requires a gradient, and gets none; detach it")
    if x.dim() == 0:
        x = x.to(logits.device)
    if x.get_device() != logits.get_device():
        raise _elsewhere(name, x, logits)
    try:
        x = x.expand(shape)
    except RuntimeError:
        actual = tuple(x.shape)
        raise ValueError(f"{name} has shape {actual}; allowed: {tuple(shape)}") from None
    return (x != 0 if dtype is torch.bool else x.to(dtype)).reshape(-1).contiguous()


def _elsewhere(name: str, x: Tensor, logits: Tensor) -> ValueError:
    return ValueError(f"{name} is on {x.device}, and the logits on {logits.device}; move one")


for _function in (logsumexp, token_log_probs, cross_entropy):
    _function.__module__ = __package__.partition(".")[0]  # help(), tracebacks and pickle show it
