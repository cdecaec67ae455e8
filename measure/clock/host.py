"""Time on a CPU: read the host's clock around a few calls, which rotate over the buffers."""

import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterable

from . import hooks
from .base import Call, CallBuffers

MIN_SAMPLE_US = 2000.0  # long enough to hide the cost of the clock and of the loop
WARM_SAMPLES = 7


class HostClock:
    """Time series of calls by the host's clock: a ``Clock``."""

    timing = "host"

    def __init__(self, rotation: list[CallBuffers]):
        self.rotation = rotation
        self._calls: dict[str, Call] = {}
        self._counts: dict[str, int] = {}
        self._next = itertools.cycle(rotation)

    def add(self, call: Call, *names: str) -> None:
        """Add a series for each name; measure how many calls a sample needs."""
        for buffers in self.rotation[:2]:  # the second call no longer pays for first-use set-up
            begin = time.perf_counter_ns()
            call(*buffers)
            once_us = (time.perf_counter_ns() - begin) / 1000
        self._calls |= dict.fromkeys(names, call)
        self._counts |= dict.fromkeys(names, max(1, round(MIN_SAMPLE_US / max(once_us, 1e-3))))

    def block(self, order: list[str], while_busy: Callable[[], None] | None = None) -> list[float]:
        return [self._sample(name, self._next) for name in order]

    def compare_graph(self, name: str) -> tuple[None, bool]:
        """Return no difference: nothing is recorded, so every timed call is a real one."""
        return None, False

    def replay(self, name: str) -> None:
        """Run a series by the same code that times it, because a kernel may look at its callers."""
        for _ in range(math.ceil(len(self.rotation) / self._counts[name])):
            self.block([name])

    def call_once(self, name: str, index: int) -> None:
        self._sample(name, self.rotation[index : index + 1])

    def warm_us(self, name: str) -> float:
        one = itertools.repeat(self.rotation[0])
        return statistics.median(self._sample(name, one) for _ in range(WARM_SAMPLES))

    def submit(self, order: list[str]) -> list[float]:
        return []

    def cold_loads(self, name: str, seed: int) -> dict:
        return {}

    def _sample(self, name: str, rotation: Iterable[CallBuffers]) -> float:
        call, calls = self._calls[name], list(itertools.islice(rotation, self._counts[name]))
        hooks.clear()
        begin = time.perf_counter_ns()
        for buffers in calls:
            call(*buffers)
        return (time.perf_counter_ns() - begin) / 1000 / len(calls)
