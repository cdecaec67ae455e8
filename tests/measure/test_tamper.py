"""A kernel that replaces a function of timing or of the correctness check is named."""

import functools

import pytest
import torch

from measure import pipeline
from measure.check import correctness, tamper, tolerance
from measure.device.opened import open_device

REPLACED = {
    "torch.cuda.Event.record": (torch.cuda.Event, "record"),
    "measure.check.correctness.check_call": (correctness, "check_call"),
    "measure.check.correctness.check_call ": (correctness.check_call, "__code__"),
    "measure.check.tolerance.FAST_EXP": (tolerance, "FAST_EXP"),
    "measure.check.tolerance.Accuracy.columns": (tolerance.Accuracy, "columns"),
}


@pytest.mark.parametrize("name", REPLACED)
def test_what_is_replaced_is_named(name, monkeypatch):
    owner, attribute = REPLACED[name]
    replaced = tamper.watch(open_device("cpu"))
    assert replaced() is None
    other = (lambda: 0.0).__code__ if attribute == "__code__" else functools.partial(print)
    with monkeypatch.context() as patch:
        patch.setattr(owner, attribute, other)
        said = replaced()
    assert said == f"the kernel replaced {name.strip()}"
    assert replaced() is None


def test_every_name_that_is_watched_exists():
    assert pipeline.timing  # what a point imports is imported
    assert [name for name in tamper.NAMES if tamper._resolve(name) is None] == []


def test_replacing_the_watchman_does_not_help(monkeypatch):
    replaced = tamper.watch(open_device("cpu"))
    monkeypatch.setattr(tamper, "_objects", dict)
    assert replaced() == "the kernel replaced measure.check.tamper._objects"
