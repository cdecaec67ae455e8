"""Blocks of interleaved samples, until the answer is known well enough or the time is up."""

import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from . import interval

VARIANT, TORCH, TORCH_AGAIN, COPY, RIVAL = "variant", "torch", "torch_again", "copy", "rival"

WARM_UP_S = 0.25  # at least; an idle H200 reaches its clocks in less
MOST_WARM_UP_S = 1.0  # at most: some devices never settle
SETTLED_BLOCKS = 5  # warm when so many blocks take as long as so many before them …
SETTLED = 0.005  # … to this share
FIRST_LOOK = 40  # blocks before the interval is looked at; fewer make a bootstrap too narrow
FEWEST = 5  # blocks that even a spent budget must pay for
GROWTH = 1.25  # from look to look, so that looking costs little beside measuring
# Blocks timed after the first look at which the interval is narrow, as a share of those before. To
# stop right there prefers intervals that came out too narrow by chance: over 1,000 simulated points
# they held the truth 92.8 % of the time, with these blocks 94.0 % (tests/measure/test_coverage.py).
CONFIRMING = 0.25


@dataclass
class Samples:
    """All timed blocks of a point, none dropped."""

    times_us: dict[str, list[float]] = field(default_factory=dict)
    raw: list[tuple] = field(default_factory=list)  # (block, order, series, time_us)
    stopped_by: str = ""

    @property
    def blocks(self) -> int:
        return len(next(iter(self.times_us.values()), []))

    def series(self, name: str) -> np.ndarray:
        """µs per call of one series, shape (blocks,)."""
        return np.array(self.times_us[name])

    def ratio(self, numerator: str, denominator: str) -> interval.Interval:
        """Paired ratio of two series, with its interval."""
        return interval.paired_ratio(self.series(numerator), self.series(denominator))

    def add(self, order: list[str], times_us: list[float]) -> None:
        block = self.blocks
        for place, (name, time_us) in enumerate(zip(order, times_us, strict=True)):
            self.times_us.setdefault(name, []).append(time_us)
            self.raw.append((block, place, name, round(time_us, 6)))


def collect(
    clock,
    names: list[str],
    interval_width: float,
    time_budget_s: float,
    seed: int,
    while_busy: Callable[[], None] | None = None,
    now: Callable[[], float] = time.monotonic,
) -> Samples:
    """Time blocks of all series in random order, once the clocks have settled.

    Stops by ``interval`` when the 95 % interval of torch / variant has become narrower than
    ``interval_width`` of it and CONFIRMING more blocks are timed, or by ``budget`` after
    ``time_budget_s`` seconds.
    """
    shuffle = random.Random(seed).sample
    _warm_up(lambda: clock.block(shuffle(names, len(names))), time_budget_s, now)

    samples, look, end = Samples(), FIRST_LOOK, now() + time_budget_s
    enough = None
    while True:
        order = shuffle(names, len(names))
        samples.add(order, clock.block(order, while_busy))
        if samples.blocks == enough:
            samples.stopped_by = "interval"
            return samples
        if enough is None and samples.blocks >= look:
            if samples.ratio(TORCH, VARIANT).width < interval_width:
                enough = math.ceil(samples.blocks * (1 + CONFIRMING))
            look = int(look * GROWTH)
        if now() >= end and samples.blocks >= FEWEST:
            samples.stopped_by = "budget"
            return samples


def _warm_up(
    block: Callable[[], list[float]], time_budget_s: float, now: Callable[[], float]
) -> None:
    """Run blocks, untimed, until they take as long as those before them."""
    begin, totals = now(), []
    while True:
        spent = now() - begin
        if spent >= min(MOST_WARM_UP_S, time_budget_s):
            return
        if spent >= WARM_UP_S and len(totals) >= 2 * SETTLED_BLOCKS:
            last = statistics.median(totals[-SETTLED_BLOCKS:])
            before = statistics.median(totals[-2 * SETTLED_BLOCKS : -SETTLED_BLOCKS])
            if abs(last / before - 1) <= SETTLED:
                return
        totals.append(sum(block()))
