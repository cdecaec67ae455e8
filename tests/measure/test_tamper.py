"""A kernel that replaces a function of timing or of the correctness check is named."""

import functools
import gc
import os
import sys

import pytest
import torch

import operations
from measure import pipeline
from measure.check import correctness, tamper, tolerance
from measure.clock.host import HostClock
from measure.device.opened import open_device

REPLACED = {
    "torch.cuda.Event.record": (torch.cuda.Event, "record"),
    "measure.check.correctness.check_call": (correctness, "check_call"),
    "measure.check.correctness.check_call ": (correctness.check_call, "__code__"),
    "operations.FAST_EXP": (operations, "FAST_EXP"),
    "measure.check.tolerance.Accuracy.columns": (tolerance.Accuracy, "columns"),
}


@pytest.mark.parametrize("name", REPLACED)
def test_what_is_replaced_is_named(name, monkeypatch):
    owner, attribute = REPLACED[name]
    replaced = tamper.watch(open_device("cpu"), operations.load("softmax"))
    assert replaced() is None
    replacement = (lambda: 0.0).__code__ if attribute == "__code__" else functools.partial(print)
    with monkeypatch.context() as patch:
        patch.setattr(owner, attribute, replacement)
        problem = replaced()
    assert problem == f"the kernel replaced {name.strip()}"
    assert replaced() is None


def hook(*_):
    return None


CORES = os.sched_getaffinity(0)
# Setting -> what changes it, and what restores it. One of each kind in tamper.SETTINGS: a hook of
# the interpreter, the system's, a list, torch's. test_cheats.py has one in a whole point.
SWITCHES = {
    "sys.getprofile": (
        functools.partial(sys.setprofile, hook),
        functools.partial(sys.setprofile, sys.getprofile()),
    ),
    "os.sched_getaffinity": (
        functools.partial(os.sched_setaffinity, 0, {min(CORES)}),
        functools.partial(os.sched_setaffinity, 0, CORES),
    ),
    "gc.callbacks": (lambda: gc.callbacks.append(hook), lambda: gc.callbacks.remove(hook)),
    "torch.is_autocast_enabled": (
        lambda: torch.set_autocast_enabled("cpu", True),
        lambda: torch.set_autocast_enabled("cpu", False),
    ),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_of_the_process_is_named(name):
    replaced = tamper.watch(open_device("cpu"), operations.load("softmax"))
    change, restore = SWITCHES[name]
    change()
    try:
        problem = replaced()
    finally:
        restore()
    assert problem.startswith(f"the kernel changed {name}")
    assert replaced() is None


def test_a_mode_of_torch_is_named():
    replaced = tamper.watch(open_device("cpu"), operations.load("softmax"))
    with torch.device("cpu"):
        assert "torch's stack of function modes" in replaced()


def test_hooks_that_a_kernel_sets_and_removes_between_checks_cost_the_baseline_nothing():
    calls = []

    def sets_a_hook(x, out):
        sys.setprofile(lambda *_: calls.append(1))

    clock = HostClock([(torch.zeros(2, 2), torch.zeros(2, 2))])
    clock.add(sets_a_hook, "variant")
    sys.setprofile(None)
    clock.add(lambda x, out: len(x), "torch")
    try:
        clock.block(["variant"])
        calls.clear()
        clock.block(["torch"])
    finally:
        sys.setprofile(None)
    assert len(calls) < 100, "only until the baseline begins"


def test_every_name_that_is_watched_exists():
    assert pipeline.timing  # a point imports it, too
    assert [name for name in tamper.NAMES if tamper._resolve(name) is None] == []


def test_replacing_the_watchman_does_not_help(monkeypatch):
    replaced = tamper.watch(open_device("cpu"), operations.load("softmax"))
    monkeypatch.setattr(tamper, "_objects", dict)
    assert replaced() == "the kernel replaced measure.check.tamper._objects"
