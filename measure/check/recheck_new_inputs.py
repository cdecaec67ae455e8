"""What was timed, once more in the same buffers, with another input and without a sign of it.

The gate's outputs of NaN, its callers and its order of calls tell a kernel that it is being looked
at; in the timed blocks nothing did. Here the outputs hold what timed blocks leave in them, right
rows and copies of the input, and the calls come from the timing's own code.
"""

import itertools
from collections.abc import Callable

import torch

from .. import inputs
from ..clock import baseline
from ..clock.base import Pair
from ..point import Point
from . import gate
from .edge_values import LARGE, SEEDS, other_distribution


def check(point: Point, pair: Pair, again: Callable[[], object], rounds: int = 3) -> str | None:
    """None, or how the variant is wrong on a timed ``pair`` that holds new values.

    ``again`` runs what was timed, as it was timed, on this pair at least; with several graphs in
    turn, ``rounds`` should reach them all. Overwrites the pair, matrices (M, N).

    Before each round all rows of out are right but some, which are copies of x, or of g: every
    other row, the others, then a single one. So a look at a few rows does not show whether there is
    anything left to do. Values are new in each round, of the point's distribution, of the other,
    and far from 0; only the first row stays, so that a look at it does not tell a new input from
    the last one.
    """
    *read, out = pair
    torch_call = baseline.control(point.op)
    one = torch.randint(point.M, (1,), generator=torch.Generator().manual_seed(point.seed)).item()
    kinds = (
        (point.distribution, 0.0, slice(0, None, 2)),
        (other_distribution(point), 0.0, slice(1, None, 2)),
        (point.distribution, LARGE, slice(one, one + 1)),
    )
    first_row = None
    for number, (distribution, shift, stale) in zip(range(rounds), itertools.cycle(kinds)):
        seed = SEEDS + point.seed + 100 + number  # beyond those of the probes
        values = inputs.draw_for(
            point.op, distribution, out.dtype, point.M, point.N, seed, out.device, shift
        )
        if first_row is not None and point.M > 1:
            for new, kept in zip(values, first_row, strict=True):
                new[0] = kept
        first_row = [new[0].clone() for new in values]
        for x, new in zip(read, values, strict=True):
            x.data.copy_(new)  # .data: without a new _version, by which a kernel could know
        torch_call(*read, out.data)
        out.data[stale].copy_(read[0][stale])
        again()
        rows = gate.rows_to_check(point.M, point.N, seed, out.device)
        rows = torch.cat([rows, rows.new_tensor([one])])
        problem = gate.check_rows(out[rows], tuple(x[rows] for x in values), point.op).problem
        if problem is None and not gate.same(tuple(read), values):
            problem = "changed its input"
        if problem:
            return f"other values in a timed pair: {problem}"
    return None
