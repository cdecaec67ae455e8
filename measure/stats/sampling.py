"""Time a number of blocks of interleaved samples, once the GPU's clocks have settled."""

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..point import MIN_BLOCKS
from . import interval

VARIANT, TORCH, TORCH_AGAIN, COPY = "variant", "torch", "torch_again", "copy"

WARM_UP_S = 0.1  # at least; an idle GPU takes longer, and its blocks then differ
MAX_WARM_UP_S = 1.0  # at most: some devices never settle
SETTLED_BLOCKS = 5  # warm if this many blocks take as long as as many before them …
SETTLED = 0.005  # … to this share
MAX_TIMING_S = 2.0  # after which no block begins, if MIN_BLOCKS are timed


@dataclass
class Samples:
    """Keep all timed blocks of a point, none dropped."""

    times_us: dict[str, list[float]] = field(default_factory=dict)
    raw: list[tuple] = field(default_factory=list)  # (block, order, series, time_us)

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
    blocks: int,
    order: random.Random,
    while_busy: Callable[[], None] | None = None,
    now: Callable[[], float] = time.monotonic,
) -> Samples:
    """Time ``blocks`` blocks of all series, in a random ``order`` within each.

    Fewer, but MIN_BLOCKS at least, if they take longer than MAX_TIMING_S. The number does not
    depend on the times: to stop once an interval is narrow prefers those that are so by chance.
    """
    _warm_up(lambda: clock.block(order.sample(names, len(names))), 2 * blocks, now)
    samples, end = Samples(), now() + MAX_TIMING_S
    while samples.blocks < blocks and (now() < end or samples.blocks < MIN_BLOCKS):
        shuffled = order.sample(names, len(names))
        samples.add(shuffled, clock.block(shuffled, while_busy))
    return samples


def _warm_up(block: Callable[[], list[float]], most: int, now: Callable[[], float]) -> None:
    """Run at most ``most`` untimed blocks, until the last take as long as those before them."""
    begin, totals = now(), []
    while now() - begin < MAX_WARM_UP_S and len(totals) < most:
        if now() - begin >= WARM_UP_S and len(totals) >= 2 * SETTLED_BLOCKS:
            last = statistics.median(totals[-SETTLED_BLOCKS:])
            before = statistics.median(totals[-2 * SETTLED_BLOCKS : -SETTLED_BLOCKS])
            if abs(last / before - 1) <= SETTLED:
                return
        totals.append(sum(block()))
