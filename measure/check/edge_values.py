"""What the probes give to a kernel: small matrices, and for a backward gradients beside them."""

import torch

from .. import inputs
from ..point import DISTRIBUTIONS, Point
from . import gate

GUARD = 64  # elements before, after and, where rows lie apart, between them; keeps alignment
LARGE = 1e4  # exp overflows far below it; float16 ends at 65504
# Probes of values that most timings do not have: a kernel that is wrong for them alone does all of
# its work, and in time.
SPECIAL = ("large values", "rows with -inf", "rows without a softmax", "rows without a gradient")
SEEDS = 2**32  # beyond the seeds of all timed pairs


def row_count(point: Point) -> int:
    """Rows of a probe: few, and like M where a launcher may choose a kernel by it.

    Divisible by 16 (Triton) or by 2 (a warp that takes two rows) as M is, or a kernel would be
    compiled that is not the one timed. On a CPU nothing is compiled by M, and rows cost more.
    """
    like_m = 16 if point.M % 16 == 0 and not point.is_cpu else 4 + point.M % 2
    return min(like_m, max(1, gate.ELEMENTS_CHECKED // point.N))


def other_distribution(point: Point) -> str:
    """The one that the point is not measured with."""
    (other,) = (name for name in DISTRIBUTIONS if name != point.distribution)
    return other


def contents(point: Point, device: torch.device) -> list[tuple[str, int, tuple[torch.Tensor, ...]]]:
    """(name, gap between rows in elements, what the call reads) of every probe.

    Matrices of shape (row_count, N).
    """
    rows, seed = row_count(point), SEEDS + point.seed

    def draw(distribution: str, seed: int) -> torch.Tensor:
        return inputs.draw(distribution, torch.float32, rows, point.N, seed, device)

    other = other_distribution(point)
    spread, shifted = draw("uniform", seed + 2) * 2 - 1, draw("normal", seed + 3)
    large = torch.stack([spread * LARGE, shifted + LARGE, shifted - LARGE])
    masked, undefined = draw("normal", seed + 4), draw("normal", seed + 5)
    middle = point.N // 2
    spans = slice(1, None), slice(middle, None), slice(0, middle), slice(0, -1)
    for row in range(rows):  # kinds in turn, plain rows between them
        kind = row % 4
        if point.N > 1:
            masked[row, spans[kind]] = -torch.inf
        if kind == 0:
            undefined[row] = -torch.inf
        elif kind == 2:
            undefined[row, middle] = torch.inf
        elif kind == 3:
            undefined[row, -1] = torch.nan
    probes = [
        ("rows apart", GUARD, draw(point.distribution, seed)),
        (f"{other} values", 0, draw(other, seed + 1)),
        ("large values", 0, large[torch.arange(rows) % 3, torch.arange(rows)]),
        ("rows with -inf", 0, masked),
        ("rows without a softmax", 0, undefined),
    ]
    dtype = getattr(torch, point.dtype)
    if point.reads == 1:
        return [(name, gap, (x.to(dtype),)) for name, gap, x in probes]
    gradients = [draw("normal", seed + 6 + number) for number in range(len(probes))]
    return [
        (name, gap, (g.to(dtype), inputs.forward(point.op, x.to(dtype))))
        for name, gap, x, g in _with_gradients(probes, gradients)
    ]


def _with_gradients(probes: list[tuple], gradients: list[torch.Tensor]) -> list[tuple]:
    """Probes of the forward and normal gradients, changed where a probe is of large values or none.

    All in float32; (name, gap, x, g) of each.
    """
    *plain, (_, gap, undefined) = probes
    large = next(x for name, _, x in plain if name == "large values")
    found = [
        (name, gap, x, large.flip(0, 1) if x is large else g)
        for (name, gap, x), g in zip(plain, gradients, strict=False)
    ]
    # Where one element leaves a row without a softmax, let it be one of the gradient instead.
    single = ~undefined.isfinite()
    single[::4] = False
    g = torch.where(single, undefined, gradients[-1])
    return [*found, ("rows without a gradient", gap, undefined.masked_fill(single, 0.0), g)]
