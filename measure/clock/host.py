"""Timing on a CPU: the host's clock around a few calls that rotate over the buffers."""

import itertools
import statistics
import time
from collections.abc import Callable

MIN_SAMPLE_US = 2000.0  # a sample this long hides the clock's and the loop's own cost
WARM_SAMPLES = 7


class HostClock:
    """Times series of calls against each other, block by block."""

    timing = "host"
    captures = 1

    def __init__(self, pairs: list[tuple]):
        self.pairs = pairs
        self._calls: dict[str, Callable] = {}
        self._counts: dict[str, int] = {}
        self._rotation = itertools.cycle(pairs)

    def add(self, name: str, call: Callable) -> None:
        for pair in self.pairs[:2]:  # the second run no longer pays for first-use set-up
            begin = time.perf_counter_ns()
            call(*pair)
            once_us = (time.perf_counter_ns() - begin) / 1000
        self._calls[name] = call
        self._counts[name] = max(1, round(MIN_SAMPLE_US / max(once_us, 1e-3)))

    def block(self, order: list[str], while_busy: Callable[[], None] | None = None) -> list[float]:
        """Time every series once, in this order; µs per call, in the same order."""
        if while_busy:
            while_busy()
        return [self._sample(name, self._rotation) for name in order]

    def replay(self, name: str) -> None:
        """Call a series once on every pair, untimed."""
        for pair in self.pairs:
            self._calls[name](*pair)

    def audit(self, name: str) -> None:
        """Return None: every timed call is made when it is timed."""

    def again(self, name: str, index: int) -> None:
        """Run a series on the pair of this index as a timed block does."""
        self._rotation = itertools.repeat(self.pairs[index])
        self.block([name])  # by the lines that timed it: a kernel may look at its callers
        self._rotation = itertools.cycle(self.pairs)

    def warm_us(self, name: str) -> float:
        """Median µs of a call on one pair of buffers that stays in the cache."""
        one = itertools.repeat(self.pairs[0])
        return statistics.median(self._sample(name, one) for _ in range(WARM_SAMPLES))

    def _sample(self, name: str, pairs) -> float:
        call, count = self._calls[name], self._counts[name]
        begin = time.perf_counter_ns()
        for pair in itertools.islice(pairs, count):
            call(*pair)
        return (time.perf_counter_ns() - begin) / 1000 / count
