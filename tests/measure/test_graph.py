"""A series takes the instances of its graph in random order, each as often as any other."""

import random

import torch

from measure.clock import graph


def test_every_instance_is_replayed_once_before_any_is_replayed_again(monkeypatch):
    for name in ("Event", "synchronize"):
        monkeypatch.setattr(torch.cuda, name, lambda **_: None)
    made, launched = iter("abcd"), []
    monkeypatch.setattr(graph, "_instance", lambda recorded: next(made))
    monkeypatch.setattr(graph, "_launch", launched.append)
    series = graph._Series("recorded", 1, random.Random(1), 4)
    assert sorted(launched[:4]) == list("abcd")  # uploaded, by the first replay of each
    for _ in range(7):
        series.replay()
    rounds = ["".join(launched[start : start + 4]) for start in range(0, 12, 4)]
    assert {*map("".join, map(sorted, rounds))} == {"abcd"}
    assert len({*rounds}) > 1
