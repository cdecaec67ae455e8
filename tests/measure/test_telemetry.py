"""What NVML says of a GPU while it is timed becomes flags."""

import os
import types

import pytest

from measure.device import telemetry


# 2.8 %, and 4 %; one sample of an idle GPU is a drift, too.
def test_a_clock_that_moves_by_more_than_three_percent_drifts():
    still, moving = ([], [1980, 1980, 1925]), ([1980, 1980, 1900], [1980] * 99 + [345])
    assert not any(map(telemetry.drifted, still))
    assert all(map(telemetry.drifted, moving))


# Other numbers than its own may be this process, as a container's host lists it: one alone says
# nothing, even if a process of that number exists here.
@pytest.mark.parametrize(
    ("pids", "flags"), [([], []), ([os.getppid()], []), ([os.getpid(), 2**22], ["shared_gpu"])]
)
def test_a_gpu_is_shared_if_nvml_lists_two_processes(monkeypatch, pids, flags):
    for name in ("nvmlInit", "nvmlDeviceGetHandleByUUID"):
        monkeypatch.setattr(telemetry.pynvml, name, lambda *_: None)
    monkeypatch.setattr(telemetry, "_QUESTIONS", {"sm_clock_mhz": lambda gpu: 1980})
    monkeypatch.setattr(telemetry.pynvml, "nvmlDeviceGetCurrentClocksEventReasons", lambda _: 0)
    listed = [types.SimpleNamespace(pid=pid) for pid in pids]
    monkeypatch.setattr(telemetry.pynvml, "nvmlDeviceGetComputeRunningProcesses", lambda _: listed)
    watched = telemetry.Telemetry(types.SimpleNamespace(uuid="GPU-aaaa"))
    watched.sample()
    assert watched.flags() == flags
