"""Blocks of interleaved samples, until the answer is known well enough or the time is up."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from . import stats

VARIANT, TORCH, TORCH_AGAIN, COPY, RIVAL = "variant", "torch", "torch_again", "copy", "rival"

WARM_UP_S = 0.25  # an idle H200 reaches its clocks in less
FIRST_LOOK = 40  # blocks before the interval is looked at; fewer make a bootstrap too narrow
FEWEST = 5  # blocks that even a spent budget must pay for
GROWTH = 1.25  # from look to look, so that looking costs little beside measuring


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

    def ratio(self, numerator: str, denominator: str) -> stats.Interval:
        """Paired ratio of two series, with its interval."""
        return stats.paired_ratio(self.series(numerator), self.series(denominator))

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
    """Time blocks of all series in random order.

    Stops by ``interval`` once the 95 % interval of torch / variant is narrower than
    ``interval_width`` of it, or by ``budget`` after ``time_budget_s`` seconds.
    """
    shuffle = random.Random(seed).sample
    warm_until = now() + min(WARM_UP_S, time_budget_s)
    while now() < warm_until:
        clock.block(shuffle(names, len(names)))

    samples, look, end = Samples(), FIRST_LOOK, now() + time_budget_s
    while True:
        order = shuffle(names, len(names))
        samples.add(order, clock.block(order, while_busy))
        if samples.blocks >= look:
            if samples.ratio(TORCH, VARIANT).width < interval_width:
                samples.stopped_by = "interval"
                return samples
            look = int(look * GROWTH)
        if now() >= end and samples.blocks >= FEWEST:
            samples.stopped_by = "budget"
            return samples
