"""A series takes the instances of its graph in random order; eager calls take turns."""

import random
import sys
import types

import torch
from cuda.bindings import driver

from measure.clock import graph


def test_every_instance_is_uploaded_once_and_replayed_once_before_any_is_replayed_again(
    monkeypatch,
):
    done = (driver.CUresult.CUDA_SUCCESS,)
    instances, uploaded, launched = iter("abcd"), [], []
    replacements = {
        "cuGraphInstantiate": lambda recorded, flags: (*done, next(instances)),
        "cuGraphUpload": lambda instance, stream: uploaded.append(instance) or done,
        "cuGraphLaunch": lambda instance, stream: launched.append(instance) or done,
    }
    for name, replacement in replacements.items():
        monkeypatch.setattr(driver, name, replacement)
    for name in ("Event", "synchronize"):
        monkeypatch.setattr(torch.cuda, name, lambda **_: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: types.SimpleNamespace(cuda_stream=0))
    recorded = types.SimpleNamespace(raw_cuda_graph=lambda: 1)
    series = graph._Series(recorded, 1, random.Random(1), 4)
    assert (uploaded, len(launched)) == ([*"abcd"], 2)
    for _ in range(10):
        series.replay()
    rounds = ["".join(launched[start : start + 4]) for start in range(0, 12, 4)]
    assert {*map("".join, map(sorted, rounds))} == {"abcd"}
    assert len({*rounds}) > 1


def test_every_batch_of_eager_calls_begins_on_an_idle_gpu_and_without_a_trace_function(monkeypatch):
    events = []

    def variant(x, out):
        events.append(("variant", x, out, sys.gettrace()))
        sys.settrace(lambda *_: None)  # it would make every call of torch slower

    def torch_call(x, out):
        events.append(("torch", x, out, sys.gettrace()))

    monkeypatch.setattr(torch.cuda, "synchronize", lambda: events.append("idle"))
    clock = object.__new__(graph.GraphClock)  # the constructor asks the driver for a memory pool
    clock.rotation = [("x", "out"), ("next x", "next out")]
    clock._calls = {"variant": variant, "torch": torch_call}
    clock._series = {
        "variant": types.SimpleNamespace(calls=2),
        "torch": types.SimpleNamespace(calls=10**4),
    }
    try:
        times_us = clock.submit(["variant", "torch"])
    finally:
        sys.settrace(None)
    assert events[1] == ("variant", "x", "out", None)
    batches = [event if event == "idle" else event[0] for event in events]
    assert batches == [*("idle", "variant", "variant"), "idle", *["torch"] * 50, "idle"]
    assert {event[3] for event in events if event[0] == "torch"} == {None}
    assert len(times_us) == 2
    assert min(times_us) > 0
