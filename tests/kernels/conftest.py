"""Fixtures of the drop-in's tests."""

import pytest


@pytest.fixture
def launches(device, monkeypatch) -> list[tuple]:
    """(kernel's launcher, tensors, numbers …) of each launch that the drop-in made.

    Where there is no GPU it takes tensors of the CPU, for Triton's interpreter; in use it never
    does.
    """
    from kernels import _dropin_device, _dropin_plain, _dropin_run

    if device.type == "cpu":
        monkeypatch.setattr(_dropin_device, "usable", lambda x: x.device.type == "cpu")
    monkeypatch.setattr(_dropin_plain, "_plain_keys", {})
    made, launch = [], _dropin_run._launch
    monkeypatch.setattr(_dropin_run, "_launch", lambda *words: made.append(words) or launch(*words))
    return made
