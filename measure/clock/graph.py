"""Time on a GPU: CUDA graphs of many calls, which rotate over more buffers than L2 holds.

Launch overhead stays out of the time, because the GPU launches the kernels of a graph without the
host. L2 is cold for every call, because the buffers of the calls in between have evicted its own.
Persisting lines, which no traffic evicts, are reset before every series. Compare the cold loop of
NVIDIA's nvbench, which flushes L2 and times one launch at a time.
"""

import functools
import math
import random
import statistics
import time
from collections.abc import Callable

import torch
from cuda.bindings import driver

from kernels.cuda.driver import checked

from ..status import out_of_memory, refused_by_gpu
from . import cold, graph_nodes, hooks, l2
from .base import Call, CallBuffers, NotCapturable, UnjoinedWork

# On an H200 two instances of one graph differ by a constant 1 to 2 µs per replay, which is 0.1 % of
# 1.5 ms. Replaying several in random order turns this bias into a part of the samples' spread.
MIN_REPLAY_US = 1500.0
INSTANCES = 8
CANDIDATE_US = 1000.0  # length of a replay when ``fastest`` compares candidates
TRIALS = 7
WARM_REPLAYS = 11
COVER_US = 50.0  # busy time, at least, during which the host queues a replay
CYCLES_PER_US = 2000  # clock cycles of a multiprocessor, about
EAGER_CALLS = 50  # per batch, at most: well below the 1024 launches that a stream can queue


class _Series:
    """Hold instances of a graph of ``calls`` calls, and the events around a timed replay."""

    def __init__(
        self, graph: torch.cuda.CUDAGraph, calls: int, order: random.Random, instances: int
    ):
        """Raise NotCapturable if the graph cannot be instantiated."""
        self.graph, self.calls = graph, calls
        self._instances = [_instance(graph) for _ in range(instances)]
        self._order, self._pending = order, []
        self.start = torch.cuda.Event(enable_timing=True)
        self.end = torch.cuda.Event(enable_timing=True)
        # the shorter of two launches, because the first may wait for the driver
        self._launch_us = min(_host_us(self.replay) for _ in range(2))
        torch.cuda.synchronize()

    def replay(self) -> None:
        """Replay the next instance, untimed. Instances take turns, in a new random order each."""
        if not self._pending:
            self._pending = self._order.sample(self._instances, len(self._instances))
        _launch(self._pending.pop())

    def enqueue(self) -> None:
        """Queue a timed replay behind untimed work that outlasts its launch."""
        torch.cuda._sleep(round((COVER_US + 2 * self._launch_us) * CYCLES_PER_US))
        self.start.record()
        self.replay()
        self.end.record()

    def read_us(self) -> float:
        """Return the time in µs per call; the events must have completed."""
        return self.start.elapsed_time(self.end) * 1000 / self.calls


class GraphClock:
    """Time series of calls by replaying CUDA graphs: a ``Clock``."""

    timing = "graph"

    def __init__(
        self, rotation: list[CallBuffers], order: random.Random, instances: int = INSTANCES
    ):
        """Replay ``instances`` instances of each series' graph, in an ``order`` drawn at random."""
        self.rotation, self._order, self._instances = rotation, order, instances
        # All graphs share a memory pool, as they never run at once. So a temporary matrix of torch
        # has one address in all series; at another address it would be slower or faster.
        self._pool = torch.cuda.graph_pool_handle()
        self._first_graph: torch.cuda.CUDAGraph | None = None
        self._series: dict[str, _Series] = {}
        self._calls: dict[str, Call] = {}

    def add(self, call: Call, *names: str) -> None:
        """Record a series for each name. Raises NotCapturable and UnjoinedWork."""
        calls = self._long_enough(call, self.rotation, MIN_REPLAY_US)
        for name in names:
            self._series[name] = self._captured(call, calls, self._instances)
            self._calls[name] = call

    def _captured(self, call: Call, calls: list[CallBuffers], instances: int = 1) -> _Series:
        return _Series(self._record(call, calls), len(calls), self._order, instances)

    def _long_enough(
        self, call: Call, rotation: list[CallBuffers], replay_us: float
    ) -> list[CallBuffers]:
        """Return the rotation, repeated until a replay lasts ``replay_us``."""
        _load(call, rotation)
        trial = self._captured(call, rotation)
        # the median, because a single trial may wait for the host, and replays would be too short
        trial_us = statistics.median(_timed_us(trial) for _ in range(TRIALS))
        return rotation * max(1, math.ceil(replay_us / (trial_us * len(rotation))))

    def _record(self, call: Call, buffers_of_calls: list[CallBuffers]) -> torch.cuda.CUDAGraph:
        graph, stream = torch.cuda.CUDAGraph(keep_graph=True), torch.cuda.current_stream()
        torch.cuda.synchronize()
        try:
            with torch.cuda.graph(graph, pool=self._pool):
                for buffers in buffers_of_calls:
                    call(*buffers)
        except Exception as error:
            torch.cuda.set_stream(stream)  # torch leaves the capture's current if it fails
            if out_of_memory(error) or not refused_by_gpu(error):
                raise
            torch.cuda.synchronize()
            # cudaErrorStreamCaptureUnjoined, as torch or as the driver spells it
            if "unjoined" in str(error).lower():
                raise UnjoinedWork(
                    "work on another stream, for which the caller's stream does not wait"
                ) from error
            raise NotCapturable(str(error)) from error
        # keeps the pool, which torch frees with its last graph, though a kernel may still use it
        self._first_graph = self._first_graph or graph
        return graph

    def compare_graph(self, name: str) -> tuple[str | None, bool]:
        series = self._series[name]
        one = graph_nodes.read_graph(self._record(self._calls[name], self.rotation[:1]))
        graph = graph_nodes.read_graph(series.graph)
        problem = graph_nodes.difference(graph, one, series.calls)
        return problem, graph_nodes.overlaps_calls(graph, one)

    def fastest(self, calls: dict[str, Call]) -> str:
        """Return the key of the call with the smallest median time.

        The candidates take turns, so that a drift of the GPU's clocks affects all alike. The first
        one determines how many calls each replay has; a trial graph for each would double the cost.
        """
        first = next(iter(calls.values()))
        rotation = self._long_enough(first, self.rotation, CANDIDATE_US)
        candidates = []
        for call in calls.values():
            _load(call, rotation)
            candidates.append(self._captured(call, rotation))
        trials = [[_timed_us(one) for one in candidates] for _ in range(TRIALS)]
        medians = map(statistics.median, zip(*trials, strict=True))
        return min(zip(medians, calls, strict=True))[1]

    def block(self, order: list[str], while_busy: Callable[[], None] | None = None) -> list[float]:
        """Time every series once, each on an idle GPU whose persisting lines have been reset.

        The GPU is kept busy until the host has queued the replay, so none waits for its launch.
        """
        for name in order:
            l2.reset_persisting_lines()
            self._series[name].enqueue()
        if while_busy:
            while_busy()
        torch.cuda.synchronize()
        return [self._series[name].read_us() for name in order]

    def replay(self, name: str) -> None:
        self._series[name].replay()
        torch.cuda.synchronize()

    def call_once(self, name: str, index: int) -> None:
        self._record(self._calls[name], [self.rotation[index]]).replay()
        torch.cuda.synchronize()

    def submit(self, order: list[str]) -> list[float]:
        """Time only the host: each batch begins on an idle GPU, and ends with the last submission.

        A batch has at most as many calls as a replay, so that long kernels do not take long here.
        """
        times = []
        for name in order:
            call, buffers = self._calls[name], self.rotation[0]
            calls = min(EAGER_CALLS, self._series[name].calls)
            torch.cuda.synchronize()
            hooks.clear()
            times.append(_host_us(functools.partial(call, *buffers), calls))
        torch.cuda.synchronize()
        return times

    def cold_loads(self, name: str, seed: int) -> dict:
        return cold.time_loads(self, name, self.rotation, seed)

    def leave_cold(self, name: str, turn: int) -> None:
        """Bring L2 into the state that a series' call on the buffers of index ``turn`` finds."""
        l2.reset_persisting_lines()
        self.replay(name)
        for buffers in self.rotation[:turn]:
            self._calls[name](*buffers)
        torch.cuda.synchronize()

    def warm_us(self, name: str) -> float:
        call = self._calls[name]
        series = self._captured(call, self._long_enough(call, self.rotation[:1], MIN_REPLAY_US))
        l2.reset_persisting_lines()
        times = []
        for _ in range(WARM_REPLAYS):
            series.replay()  # untimed, to bring the buffers into L2
            times.append(_timed_us(series))
        return statistics.median(times)


def _load(call: Call, rotation: list[CallBuffers]) -> None:
    """Compile and load a call's kernels, which is not possible during a capture."""
    for buffers in (rotation[0], rotation[-1]):
        call(*buffers)


def _instance(graph: torch.cuda.CUDAGraph):
    """Return an executable instance of a graph, uploaded; torch's class can make only one."""
    try:
        (instance,) = checked(driver.cuGraphInstantiate(driver.CUgraph(graph.raw_cuda_graph()), 0))
        # otherwise the first replay of each instance uploads it, and takes 1.5 ms or more
        checked(driver.cuGraphUpload(instance, torch.cuda.current_stream().cuda_stream))
    except RuntimeError as error:
        if out_of_memory(error):
            raise
        raise NotCapturable(f"its graph cannot be instantiated: {error}") from error
    return instance


def _launch(instance) -> None:
    checked(driver.cuGraphLaunch(instance, torch.cuda.current_stream().cuda_stream))


def _timed_us(series: _Series) -> float:
    """Time one replay, wait for it, and return the time in µs per call."""
    series.enqueue()
    torch.cuda.synchronize()
    return series.read_us()


def _host_us(queue: Callable[[], object], times: int = 1) -> float:
    """Return the host time in µs to queue some work once."""
    begin = time.perf_counter_ns()
    for _ in range(times):
        queue()
    return (time.perf_counter_ns() - begin) / 1000 / times
