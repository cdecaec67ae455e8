"""Is it still a softmax? The gate once more, on the very buffers and graphs that were timed."""

import functools

import torch

from . import gate, retimed, sampling
from .buffers import draw
from .clock import Pair
from .point import Point

PAIRS_CHECKED = 3  # timed pairs that pass the gate again: the first, the last, one between


def check(point: Point, pairs: list[Pair], clock) -> gate.Accuracy:
    """The gate once more, on what ``clock`` has timed on ``pairs``.

    Outputs of NaN and one more replay, against inputs drawn anew; every call of a graph, with an
    audit between them; and other values in a timed pair. Overwrites the pairs.
    """
    for _, out in _checked(pairs).values():
        out.fill_(float("nan"))
    clock.replay(sampling.VARIANT)
    findings = []
    for index, (x, out) in _checked(pairs).items():
        fresh = draw(point, x, index)
        rows = gate.rows_to_check(point.M, point.N, point.seed + 1 + index, x.device)
        findings.append(gate.check_values(out[rows], fresh[rows], point.op))
        if not torch.equal(gate.bits(x), gate.bits(fresh)):
            findings.append(gate.Accuracy(problem="changed its input"))
    findings.append(gate.Accuracy(problem=clock.audit(sampling.VARIANT)))
    again = functools.partial(clock.again, sampling.VARIANT)
    other = retimed.check(point, pairs[0], again, max(3, clock.captures))
    findings.append(gate.Accuracy(problem=other))
    return gate.worst(findings)


def _checked(pairs: list[Pair]) -> dict[int, Pair]:
    chosen = sorted({0, len(pairs) // 2, len(pairs) - 1})[:PAIRS_CHECKED]
    return {index: pairs[index] for index in chosen}
