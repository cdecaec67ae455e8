"""What was timed is checked again: every graph, with other values in the timed buffers."""

import random
from typing import ClassVar

import pytest
import torch

from measure import inputs
from measure.check import recheck
from measure.clock import controls, graph
from measure.device.device import open_device
from measure.point import Point
from measure.stats import sampling


def timed_point(op="softmax", rows=6):
    """A point, torch's own call, and the buffers that are timed."""
    point = Point(gpu="cpu", dtype="float32", M=rows, N=90, variant="torch_softmax", op=op)
    given = inputs.draw_at(point, torch.empty(rows, 90), 0)
    return point, inputs.rotation(point, open_device("cpu"), given)[:3]


class Graph:
    """A graph that a CPU can replay, and all replays of such graphs."""

    replays: ClassVar = []

    def __init__(self, clock, call, buffers):
        self.call, self.buffers = call, buffers

    def replay(self):
        self.replays.append(self)
        for some in self.buffers:
            self.call(*some)


def test_other_values_reach_every_graph_wherever_the_timing_stopped(monkeypatch):
    monkeypatch.setattr(graph, "_timed_us", lambda series: 1000.0)
    for name in ("Event", "synchronize", "graph_pool_handle"):
        monkeypatch.setattr(torch.cuda, name, lambda **_: None)
    monkeypatch.setattr(graph.GraphClock, "_record", lambda *given: Graph(*given))
    point, rotation = timed_point()
    clock = graph.GraphClock(rotation, random.Random(1))
    clock.add(sampling.VARIANT, controls.baseline("softmax"))
    graphs = set(clock._series[sampling.VARIANT].graphs)
    for _ in range(2 * len(graphs)):
        clock.replay(sampling.VARIANT)
        Graph.replays.clear()
        assert recheck.check_others(point, rotation, clock) is None
        with_other_values = [one for one in Graph.replays[1:] if one in graphs]
        assert set(with_other_values) == graphs


@pytest.mark.parametrize("rows", [1, 2, 64])
@pytest.mark.parametrize("op", ["softmax", "softmax_backward", "log_softmax_backward"])
def test_an_honest_kernel_is_right_on_other_values_in_timed_buffers(op, rows):
    point, (buffers, *_) = timed_point(op, rows)
    calls = [lambda: controls.baseline(op)(*buffers)] * 2
    assert recheck.check_new_inputs(point, buffers, *calls) is None
