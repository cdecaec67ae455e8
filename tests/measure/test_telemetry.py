"""What NVML says of a GPU while it is timed becomes flags."""

import os

import pytest

from measure.device import telemetry


# 2.8 %, and 4 %; one sample of an idle GPU is a drift, too.
@pytest.mark.parametrize(
    ("clocks", "drifted"),
    [
        ([], False),
        ([1980, 1980, 1925], False),
        ([1980, 1980, 1900], True),
        ([1980] * 99 + [345], True),
    ],
)
def test_a_clock_that_moves_by_more_than_three_percent_drifts(clocks, drifted):
    assert telemetry.drifted(clocks) == drifted


OWN, PARENT, FOREIGN = os.getpid(), os.getppid(), 2**22  # Linux gives no number beyond the last


@pytest.mark.parametrize(
    ("pids", "shared"),
    [
        (set(), False),
        ({OWN}, False),
        ({OWN, PARENT}, True),
        ({OWN, FOREIGN}, True),
        ({PARENT}, True),  # NVML does not list this process
        ({FOREIGN}, False),  # this process, by its number outside a container
        ({FOREIGN, FOREIGN + 1}, True),
    ],
)
def test_a_gpu_is_shared_if_another_process_uses_it(pids, shared):
    assert telemetry.has_others(pids) == shared
