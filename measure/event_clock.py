"""Timing on a GPU for what no graph can hold: call by call, launch cost included."""

from collections.abc import Callable

import torch

from .clock import Call, Pair, fastest


class EventClock:
    """Times series of calls against each other, block by block, each after an L2 flush."""

    timing = "events"

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

    def block(self, order: list[str], while_busy: Callable[[], None] | None = None) -> list[float]:
        """Time every series once, in this order; µs per call, in the same order."""
        events = []
        for index, name in enumerate(order):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            self._flush.zero_()
            start.record()
            self._calls[name](*self.pairs[index % len(self.pairs)])
            end.record()
            events.append((start, end))
        if while_busy:
            while_busy()
        torch.cuda.synchronize()
        return [start.elapsed_time(end) * 1000 for start, end in events]

    def warm_us(self, name: str) -> None:
        """None: without a graph, launch cost would drown a warm time."""

    def replay(self, name: str) -> None:
        """Call a series once on every pair, untimed, and wait for it."""
        for pair in self.pairs:
            self._calls[name](*pair)
        torch.cuda.synchronize()
