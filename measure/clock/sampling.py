"""Warm up until the GPU's clocks have settled, then time blocks of interleaved series.

A block times every series once: the variant, the baseline twice, and one or two rooflines.
"""

import random
import statistics
import time
from collections.abc import Callable

from ..point import MIN_BLOCKS
from .base import Clock

WARM_UP_S = 0.1  # the shortest warm-up
MAX_WARM_UP_S = 1.0  # the longest warm-up: some devices never settle
# The clocks have settled when the last 5 blocks take as long as the 5 before, to within 0.5 %.
SETTLED_BLOCKS = 5
SETTLED = 0.005
MAX_TIMING_S = 2.0  # after this time no block begins, unless fewer than MIN_BLOCKS are timed
# Batches of eager calls per series, and the time for all. With 21 batches, the interval of the
# median leaves out five at either end. Long kernels get fewer, because a batch waits for the GPU.
EAGER_ROUNDS, MAX_EAGER_S = 21, 0.5

Sample = tuple[int, int, str, float]  # block, place within the block, series, µs per call


def time_blocks(
    clock: Clock,
    names: list[str],
    blocks: int,
    order: random.Random,
    while_busy: Callable[[], None] | None = None,
    now: Callable[[], float] = time.monotonic,
) -> list[Sample]:
    """Time ``blocks`` blocks of the series ``names``, each block in a random ``order``.

    Stops after MAX_TIMING_S, but never before MIN_BLOCKS, and drops no outlier. It does not stop
    once an interval is narrow, which would favour intervals that are narrow by chance, and wrong.
    """
    _warm_up(lambda: clock.block(order.sample(names, len(names))), 2 * blocks, now)
    samples, end = [], now() + MAX_TIMING_S
    for block in range(blocks):
        if now() >= end and block >= MIN_BLOCKS:
            break
        shuffled = order.sample(names, len(names))
        timed = zip(shuffled, clock.block(shuffled, while_busy), strict=True)
        samples += [(block, place, *pair) for place, pair in enumerate(timed)]
    return samples


def time_submissions(
    clock: Clock,
    names: list[str],
    order: random.Random,
    now: Callable[[], float] = time.monotonic,
) -> dict[str, list[float]]:
    """Return, by series, the host time in µs per eager call in each round; {} on a CPU.

    Like blocks, each round times all series in a random ``order``. Stops after MAX_EAGER_S, but
    never before MIN_BLOCKS rounds.
    """
    rounds, end = [], now() + MAX_EAGER_S
    for number in range(EAGER_ROUNDS):
        if now() >= end and number >= MIN_BLOCKS:
            break
        shuffled = order.sample(names, len(names))
        rounds.append(dict(zip(shuffled, clock.submit(shuffled), strict=False)))
    return {name: [times[name] for times in rounds] for name in names if name in rounds[0]}


def _warm_up(block: Callable[[], list[float]], max_blocks: int, now: Callable[[], float]) -> None:
    """Run untimed blocks until the clocks have settled.

    Stops after MAX_WARM_UP_S, and after ``max_blocks``, but never before WARM_UP_S.
    """
    begin, totals = now(), []
    while (elapsed := now() - begin) < MAX_WARM_UP_S:
        if elapsed >= WARM_UP_S and (len(totals) >= max_blocks or _settled(totals)):
            return
        totals.append(sum(block()))


def _settled(totals: list[float]) -> bool:
    if len(totals) < 2 * SETTLED_BLOCKS:
        return False
    last = statistics.median(totals[-SETTLED_BLOCKS:])
    before = statistics.median(totals[-2 * SETTLED_BLOCKS : -SETTLED_BLOCKS])
    return abs(last / before - 1) <= SETTLED
