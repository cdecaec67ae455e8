"""Operands, error bounds and special rows that the operations on logits share.

A row of x holds the logits of one token. Values per row are float32, whatever the dtype of x.
"""

from collections.abc import Callable

import torch

from . import FAST_EXP, ROUNDINGS, ROUNDOFF, SMALLEST_NORMAL, Exact, Inputs, Operand, Output

X = Operand("x")
INDEX = Operand("index", ("M",), "int64")
TARGET = Operand("target", ("M",), "int64")
G = Operand("g", ("M",), "float32")  # the gradient with respect to each row's value
SAVED = Operand("maximum", ("M",), "float32"), Operand("log_sum", ("M",), "float32")
DX = Output("dx", row_terms=lambda dx: dx)

IGNORE_INDEX = -100  # torch's default: a row with this target has loss 0 and gradient 0
MASKED_PREFIXES = (
    1,
    32,
    1024,
    2048,
    16384,
)  # lengths of -inf prefixes, some of which fill whole blocks of published kernels
CHUNK = 2**24  # elements reduced at a time in float64


def value(name: str) -> Output:
    """Return an output with one float32 value per row."""
    return Output(name, ("M",), "float32")


def distance_from(maximum: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return how far each logit of x (M, N) is below ``maximum`` (M,); finite even for -inf."""
    return (maximum[:, None] - x).clamp(max=1 / SMALLEST_NORMAL)


def exact_log_prob(x: torch.Tensor, index: torch.Tensor) -> Exact:
    """Return the log-probability of each row's element at ``index`` (M,)."""
    log_p = torch.log_softmax(x, dim=1)
    y = log_p.gather(1, index[:, None])[:, 0]
    # Rounding the argument of exp matters in proportion to the element's share of the sum.
    argument = (log_p.exp() * distance_from(x.amax(dim=1), x)).sum(dim=1)
    bound = FAST_EXP + ROUNDINGS * ROUNDOFF * (argument + y.abs())
    return Exact(y, bound, y.abs().clamp(min=1.0))


def exact_loss(x: torch.Tensor, target: torch.Tensor) -> Exact:
    """Return the loss of each row, which is 0 if the target is IGNORE_INDEX."""
    ignored = target == IGNORE_INDEX
    y, bound, scale = exact_log_prob(x, target.masked_fill(ignored, 0))
    return Exact((-y).masked_fill(ignored, 0.0), bound.masked_fill(ignored, 0.0), scale)


def exact_gradient(
    g: torch.Tensor,
    x: torch.Tensor,
    index: torch.Tensor,
    maximum: torch.Tensor,
    log_sum: torch.Tensor,
    dtype: torch.dtype,
) -> Exact:
    """Return g · (1[n = index] - p), p = exp(x - maximum - log_sum)."""
    g, maximum, log_sum = g[:, None], maximum[:, None], log_sum[:, None]
    log_p = x - maximum - log_sum
    p, at_index = log_p.exp(), torch.arange(x.shape[1], device=x.device) == index[:, None]
    distance = distance_from(maximum[:, 0], x)
    bound = p * (FAST_EXP + ROUNDINGS * ROUNDOFF * (1 + distance + log_sum.abs()))
    # At the index, 1 - p may almost cancel, and both terms are rounded.
    bound = g.abs() * (bound + ROUNDINGS * ROUNDOFF * at_index) + SMALLEST_NORMAL * (1 + g.abs())
    scale = (g.abs() * (p + at_index.double())).clamp(min=torch.finfo(dtype).tiny)
    return Exact(g * torch.where(at_index, -torch.expm1(log_p), -p), bound, scale)


def exact_loss_gradient(g, x, target, maximum, log_sum, dtype: torch.dtype) -> Exact:
    """Return g · (p - 1[n = target]) like ``exact_gradient``, and 0 for ignored rows."""
    y, bound, scale = exact_gradient(-g, x, target, maximum, log_sum, dtype)
    ignored = (target == IGNORE_INDEX)[:, None]
    return Exact(y.masked_fill(ignored, 0.0), bound.masked_fill(ignored, 0.0), scale)


def saved_by_forward(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what a forward saves per row: the maximum, and log Σ exp(x - maximum)."""
    maxima, log_sums = [], []
    for rows in x.split(max(1, CHUNK // x.shape[1])):
        wide = rows.double()
        maxima.append(wide.amax(dim=1))
        log_sums.append(torch.logsumexp(wide - maxima[-1][:, None], dim=1))
    return torch.cat(maxima).float(), torch.cat(log_sums).float()


def log_probs(x: torch.Tensor, maximum: torch.Tensor, log_sum: torch.Tensor) -> torch.Tensor:
    """Return log p in float32 from what a forward saved, by two torch operations."""
    return (x - maximum[:, None]).sub_(log_sum[:, None])


def log_softmax_gradient(grad: torch.Tensor, log_p: torch.Tensor, out: torch.Tensor) -> None:
    """Write the gradient with respect to x to ``out``; ``grad`` is that with respect to log p."""
    backward = torch._log_softmax_backward_data
    if out.dtype == torch.float32:
        backward(grad, log_p, 1, torch.float32, out=out)
    else:
        out.copy_(backward(grad, log_p, 1, torch.float32))


MakeInputs = Callable[..., Inputs]


def inputs_from(make_inputs: MakeInputs, index: Operand = INDEX) -> Callable:
    """Return ``inputs_of`` of an operation; ``make_inputs(x, index, draw)`` returns its inputs."""
    return lambda x, draw: make_inputs(x, draw(index), draw)


def special_rows(make_inputs: MakeInputs, index: Operand = INDEX) -> Callable:
    """Return ``special_rows`` of an operation; ``make_inputs`` as for ``inputs_from``.

    Every second row is special, beginning with the first. The logit at the target stays finite
    unless the case is about it. Ignored targets are only for operations with a target.
    """

    def rows(x: torch.Tensor, draw) -> dict[str, Inputs]:
        cols, targets = x.shape[1], draw(index)
        columns = torch.arange(cols, device=x.device)
        special = (torch.arange(len(x), device=x.device) % 2 == 0)[:, None]
        special_inputs = {}

        def add(name: str, mask: torch.Tensor, fill: float, targets: torch.Tensor = targets):
            special_inputs[name] = make_inputs(x.masked_fill(mask & special, fill), targets, draw)

        add("some -inf", (columns - targets[:, None]) % 3 == 1, -torch.inf)
        for count in (count for count in MASKED_PREFIXES if count < cols):
            add(f"first {count} -inf", columns < count, -torch.inf, targets.clamp(min=count))
        late = targets.clamp(min=cols // 2)  # beyond a kernel's first blocks
        add("one finite", columns != late[:, None], -torch.inf, late)
        add("target -inf", columns == targets[:, None], -torch.inf)
        add("all -inf", columns >= 0, -torch.inf)
        add("+inf", columns == cols // 2, torch.inf)
        add("NaN", columns == cols - 1, torch.nan)
        if index is TARGET:
            special_inputs["ignored target"] = make_inputs(
                x, targets.masked_fill(special[:, 0], IGNORE_INDEX), draw
            )
        return special_inputs

    return rows
