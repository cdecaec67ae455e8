"""Is it still right? The gate once more, on the very buffers and graphs that were timed."""

import functools
import random

from ..clock.base import Pair
from ..clock.buffers import draw
from ..point import Point
from ..stats import sampling
from . import gate, recheck_new_inputs
from .edge_values import SEEDS

PAIRS_CHECKED = 3  # of those that hold new values


def check(point: Point, pairs: list[Pair], clock) -> gate.Accuracy:
    """The gate once more, on what ``clock`` has timed on ``pairs``.

    Outputs of NaN and one more replay, against inputs drawn anew; then new values in all pairs and
    another replay; every call of a graph, with an audit between them; and several rounds with one
    of the pairs. The errors are those of the first look, at the same pairs every time; which pairs
    the others look at cannot be foreseen. Overwrites the pairs.
    """
    fixed = sorted({0, len(pairs) // 2, len(pairs) - 1})
    some = random.SystemRandom().sample(range(len(pairs)), min(len(pairs), PAIRS_CHECKED))
    for index in fixed:
        pairs[index][-1].fill_(float("nan"))
    clock.replay(sampling.VARIANT)
    found = gate.worst([_compare(point, pairs[index], index) for index in fixed])
    # A kernel may have kept what it made of every pair but the one that it was tried with.
    first = SEEDS // 2  # beyond the seeds of the timed values, below those of the probes
    for index, (*read, _) in enumerate(pairs):
        for x, values in zip(read, draw(point, read[0], first + index), strict=True):
            x.data.copy_(values)  # .data: without a new _version
    clock.replay(sampling.VARIANT)
    problems = [_compare(point, pairs[index], first + index).problem for index in some]
    problems.append(clock.audit(sampling.VARIANT))
    again = functools.partial(clock.again, sampling.VARIANT, some[0])
    problems.append(recheck_new_inputs.check(point, pairs[some[0]], again, max(3, clock.captures)))
    found.problem = next(filter(None, (found.problem, *problems)), None)
    return found


def _compare(point: Point, pair: Pair, number: int) -> gate.Accuracy:
    """A timed pair against its input, the ``number``-th that is drawn for the point, drawn anew."""
    *read, out = pair
    fresh = draw(point, out, number)
    rows = gate.rows_to_check(point.M, point.N, (point.seed + 1 + number) % SEEDS, out.device)
    if not gate.same(tuple(read), fresh):
        return gate.Accuracy(problem="changed its input")
    return gate.check_rows(out[rows], tuple(x[rows] for x in fresh), point.op)
