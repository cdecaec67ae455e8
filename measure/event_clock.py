"""Timing on a GPU for what no graph can hold: call by call, launch cost included."""

from collections.abc import Callable

import torch

from . import persisting
from .clock import Call, Pair, fastest


class EventClock:
    """Times series of calls against each other, block by block, each after an L2 flush."""

    timing = "events"
    captures = 1

    def __init__(self, pairs: list[Pair], cache_bytes: int):
        self.pairs = pairs
        self._flush = torch.empty(3 * cache_bytes, dtype=torch.int8, device=pairs[0][0].device)
        self._calls: dict[str, Call] = {}

    def add(self, name: str, call: Call) -> None:
        call(*self.pairs[0])
        self._calls[name] = call

    def add_fastest(self, name: str, calls: list[Call]) -> None:
        """Keep the fastest of several calls that do the same."""
        for index, call in enumerate(calls):
            self.add(f"{name} {index}", call)
        best = fastest(len(calls), lambda index: self.block([f"{name} {index}"])[0])
        self.add(name, calls[best])

    def block(
        self, order: list[str], while_busy: Callable[[], None] | None = None, first: int = 0
    ) -> list[float]:
        """Time every series once, in this order; µs per call, in the same order.

        The pairs are taken in turn, from that of index ``first`` on.
        """
        events = []
        for index, name in enumerate(order):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            persisting.let_go()
            self._flush.zero_()
            start.record()
            self._calls[name](*self.pairs[(first + index) % len(self.pairs)])
            end.record()
            events.append((start, end))
        if while_busy:
            while_busy()
        torch.cuda.synchronize()
        return [start.elapsed_time(end) * 1000 for start, end in events]

    def warm_us(self, name: str) -> None:
        """None: without a graph, launch cost would drown a warm time."""

    def audit(self, name: str) -> None:
        """None: without a graph, every timed call is made when it is timed."""

    def again(self, name: str, index: int) -> None:
        """Run a series on the pair of this index as a timed block does."""
        self.block([name], first=index)

    def leave_cold(self, name: str, turn: int) -> None:
        """Leave L2 as a call of a series on the pair of index ``turn`` would find it."""
        persisting.let_go()
        self._flush.zero_()
        torch.cuda.synchronize()

    def replay(self, name: str) -> None:
        """Call a series once on every pair, untimed, and wait for it."""
        for pair in self.pairs:
            self._calls[name](*pair)
        torch.cuda.synchronize()
