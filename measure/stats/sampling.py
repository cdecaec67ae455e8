"""Time blocks of interleaved samples until the interval is narrow enough or the time is up."""

import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from . import interval

VARIANT, TORCH, TORCH_AGAIN, COPY = "variant", "torch", "torch_again", "copy"

WARM_UP_S = 0.25  # at least; an idle H200 reaches its clocks in less
MAX_WARM_UP_S = 1.0  # at most: some devices never settle
SETTLED_BLOCKS = 5  # warm if this many blocks take as long as as many before them …
SETTLED = 0.005  # … to this share
FIRST_CHECK = 40  # blocks before the first interval; fewer make a bootstrap too narrow
MIN_BLOCKS = 5  # timed even if the budget is spent
GROWTH = 1.25  # of blocks from check to check, so that intervals cost little beside timing
# Blocks timed after the first narrow interval, as a share of those before it. Stopping right there
# prefers intervals that are too narrow by chance. Over 1,000 simulated points such intervals held
# the true value 92.8 % of the time, with these blocks 94.0 % (tests/measure/test_coverage.py).
CONFIRMING = 0.25


@dataclass
class Samples:
    """All timed blocks of a point, none dropped."""

    times_us: dict[str, list[float]] = field(default_factory=dict)
    raw: list[tuple] = field(default_factory=list)  # (block, order, series, time_us)
    stopped_by: str = ""

    @property
    def blocks(self) -> int:
        """Return the number of timed blocks."""
        return len(next(iter(self.times_us.values()), []))

    def series(self, name: str) -> np.ndarray:
        """Return µs per call of one series, shape (blocks,)."""
        return np.array(self.times_us[name])

    def ratio(self, numerator: str, denominator: str) -> interval.Interval:
        """Return the paired ratio of two series, with its interval."""
        return interval.paired_ratio(self.series(numerator), self.series(denominator))

    def add(self, order: list[str], times_us: list[float]) -> None:
        """Append a block: the series in the order in which they ran, and their times."""
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
    """Time blocks of all series in random order, once the GPU's clocks have settled.

    Stops by ``interval`` when the 95 % interval of torch / variant is narrower than
    ``interval_width`` of it and CONFIRMING more blocks are timed, or by ``budget`` after
    ``time_budget_s`` seconds.
    """
    shuffle = random.Random(seed).sample
    _warm_up(lambda: clock.block(shuffle(names, len(names))), time_budget_s, now)

    samples, check_at, end = Samples(), FIRST_CHECK, now() + time_budget_s
    enough = None
    while True:
        order = shuffle(names, len(names))
        samples.add(order, clock.block(order, while_busy))
        if samples.blocks == enough:
            samples.stopped_by = "interval"
            return samples
        if enough is None and samples.blocks >= check_at:
            if samples.ratio(TORCH, VARIANT).width < interval_width:
                enough = math.ceil(samples.blocks * (1 + CONFIRMING))
            check_at = int(check_at * GROWTH)
        if now() >= end and samples.blocks >= MIN_BLOCKS:
            samples.stopped_by = "budget"
            return samples


def _warm_up(
    block: Callable[[], list[float]], time_budget_s: float, now: Callable[[], float]
) -> None:
    """Run untimed blocks until they take as long as the blocks before them."""
    begin, totals = now(), []
    while True:
        spent = now() - begin
        if spent >= min(MAX_WARM_UP_S, time_budget_s):
            return
        if spent >= WARM_UP_S and len(totals) >= 2 * SETTLED_BLOCKS:
            last = statistics.median(totals[-SETTLED_BLOCKS:])
            before = statistics.median(totals[-2 * SETTLED_BLOCKS : -SETTLED_BLOCKS])
            if abs(last / before - 1) <= SETTLED:
                return
        totals.append(sum(block()))
