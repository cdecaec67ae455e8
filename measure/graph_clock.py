"""Timing on a GPU: CUDA graphs of many calls that rotate over more buffers than L2 holds.

Launch cost stays out of the time because a graph launches its kernels by itself; L2 is cold for
every call because the buffers of the calls in between have pushed its own out. Compare NVIDIA
nvbench's cold loop, which flushes L2 and times one launch at a time.
"""

import itertools
import math
import statistics
import time
from collections.abc import Callable

import torch

from .clock import Call, Pair, fastest
from .outcome import out_of_memory, refused_by_gpu

# On an H200 two captures of the same calls differ by a constant 1 to 2 µs per replay. Long replays
# make that small (0.05 % of 4 ms); several captures of each series, used in turn, make what is left
# part of the samples' spread instead of a bias.
MIN_REPLAY_US = 4000.0
CAPTURES = 8
WARM_REPLAYS = 11
LATENCY_CALLS = 50  # per batch: well below the 1024 launches that fit in a stream's queue
LATENCY_BATCHES = 11


class NotCapturable(RuntimeError):
    """A variant's calls cannot be recorded in a CUDA graph."""


class _Series:
    """Graphs of ``calls`` calls each, used in turn, and the events around a replay."""

    def __init__(self, call: Call, pairs: list[Pair], calls: int, captures: int):
        self.calls = calls
        self.start = torch.cuda.Event(enable_timing=True)
        self.end = torch.cuda.Event(enable_timing=True)
        graphs = []
        for _ in range(captures):
            graph = torch.cuda.CUDAGraph()
            torch.cuda.synchronize()
            # One memory pool for all: they never run at the same time.
            with torch.cuda.graph(graph, pool=graphs[0].pool() if graphs else None):
                for index in range(calls):
                    call(*pairs[index % len(pairs)])
            graph.replay()  # the first replay uploads the graph
            graphs.append(graph)
        torch.cuda.synchronize()
        self._graphs = itertools.cycle(graphs)

    def replay(self) -> None:
        next(self._graphs).replay()

    def enqueue(self) -> None:
        """A timed replay."""
        self.start.record()
        self.replay()
        self.end.record()

    def read_us(self) -> float:
        """µs per call; the events must have completed."""
        return self.start.elapsed_time(self.end) * 1000 / self.calls


def capture(call: Call, pairs: list[Pair], captures: int = 1) -> _Series:
    """Record whole rotations over ``pairs``, as many as make a replay last MIN_REPLAY_US.

    Raises NotCapturable when the call cannot be recorded.
    """
    call(*pairs[0])  # compile, load and specialise outside the capture
    call(*pairs[-1])
    try:
        trial = _Series(call, pairs, len(pairs), captures=1)
    except Exception as error:
        if out_of_memory(error) or not refused_by_gpu(error):
            raise
        torch.cuda.synchronize()
        raise NotCapturable(str(error)) from error
    trial.enqueue()
    torch.cuda.synchronize()
    rotations = math.ceil(MIN_REPLAY_US / (trial.read_us() * len(pairs)))
    return _Series(call, pairs, rotations * len(pairs), captures)


class GraphClock:
    """Times series of calls against each other, block by block, from graphs."""

    timing = "graph"

    def __init__(self, pairs: list[Pair]):
        self.pairs = pairs
        self._series: dict[str, _Series] = {}
        self._calls: dict[str, Call] = {}

    def add(self, name: str, call: Call) -> None:
        """Record a series. Raises NotCapturable."""
        self._series[name] = capture(call, self.pairs, CAPTURES)
        self._calls[name] = call

    def add_fastest(self, name: str, calls: list[Call]) -> None:
        """Record the fastest of several calls that do the same."""
        candidates = [capture(call, self.pairs) for call in calls]

        def time_us(index: int) -> float:
            candidates[index].enqueue()
            torch.cuda.synchronize()
            return candidates[index].read_us()

        self.add(name, calls[fastest(len(calls), time_us)])

    def block(self, order: list[str], while_busy: Callable[[], None] | None = None) -> list[float]:
        """Time every series once, in this order; µs per call, in the same order.

        An untimed replay goes first: while it runs, the host queues all the rest, so that no timed
        replay ever waits for its own launch.
        """
        self._series[order[-1]].replay()
        for name in order:
            self._series[name].enqueue()
        if while_busy:
            while_busy()
        torch.cuda.synchronize()
        return [self._series[name].read_us() for name in order]

    def replay(self, name: str) -> None:
        """Run a series once more, untimed, and wait for it."""
        self._series[name].replay()
        torch.cuda.synchronize()

    def warm_us(self, name: str) -> float:
        """Median µs of a call on one pair of buffers that stays in L2."""
        series = capture(self._calls[name], self.pairs[:1])
        times = []
        for _ in range(WARM_REPLAYS):
            series.replay()  # untimed, so that the timed replay is already queued
            series.enqueue()
            torch.cuda.synchronize()
            times.append(series.read_us())
        return statistics.median(times)


def latency_us(call: Call, pair: Pair) -> float:
    """Median µs that the host spends to submit one eager call."""
    times = []
    for _ in range(LATENCY_BATCHES):
        torch.cuda.synchronize()
        begin = time.perf_counter_ns()
        for _ in range(LATENCY_CALLS):
            call(*pair)
        times.append((time.perf_counter_ns() - begin) / 1000 / LATENCY_CALLS)
    torch.cuda.synchronize()
    return statistics.median(times)
