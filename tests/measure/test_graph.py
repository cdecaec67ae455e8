"""A series takes the instances of its graph in random order, each as often as any other."""

import random
import types

import torch
from cuda.bindings import driver

from measure.clock import graph


def test_every_instance_is_uploaded_once_and_replayed_once_before_any_is_replayed_again(
    monkeypatch,
):
    done = (driver.CUresult.CUDA_SUCCESS,)
    made, uploaded, launched = iter("abcd"), [], []
    fakes = {
        "cuGraphInstantiate": lambda recorded, flags: (*done, next(made)),
        "cuGraphUpload": lambda instance, stream: uploaded.append(instance) or done,
        "cuGraphLaunch": lambda instance, stream: launched.append(instance) or done,
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(driver, name, fake)
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
