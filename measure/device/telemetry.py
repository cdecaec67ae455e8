"""Watch a GPU while it is timed: clocks, temperature, power, throttling, other users."""

import statistics

import pynvml

from .gpus import open_nvml
from .opened import Device

CLOCK_DRIFT = 0.03  # share by which the SM clock may vary during timing before a flag is set

# NVML's reasons why a busy GPU slows down; being idle and clock settings are left out.
_THROTTLES = {
    "power_cap": pynvml.nvmlClocksEventReasonSwPowerCap,
    "hw_slowdown": pynvml.nvmlClocksThrottleReasonHwSlowdown,
    "sw_thermal": pynvml.nvmlClocksEventReasonSwThermalSlowdown,
    "hw_thermal": pynvml.nvmlClocksThrottleReasonHwThermalSlowdown,
    "power_brake": pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown,
}
# Columns of the row -> the NVML query that fills them.
_QUESTIONS = {
    "sm_clock_mhz": lambda gpu: pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM),
    "memory_clock_mhz": lambda gpu: pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_MEM),
    "temperature_c": lambda gpu: pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU),
    "power_w": lambda gpu: pynvml.nvmlDeviceGetPowerUsage(gpu) / 1000,
}


class Telemetry:
    """Sample NVML while blocks are timed; ``row()`` returns medians for the row."""

    def __init__(self, device: Device):
        self._gpu = open_nvml().nvmlDeviceGetHandleByUUID(device.uuid)
        self._samples = {column: [] for column in _QUESTIONS}
        self._throttles: set[str] = set()
        self._pids: set[int] = set()

    def sample(self) -> None:
        """Take one sample, while the GPU works on timed blocks."""
        for column, question in _QUESTIONS.items():
            if (value := self._ask(question)) is not None:
                self._samples[column].append(value)
        bits = self._ask(pynvml.nvmlDeviceGetCurrentClocksEventReasons) or 0
        self._throttles |= {name for name, bit in _THROTTLES.items() if bits & bit}
        processes = self._ask(pynvml.nvmlDeviceGetComputeRunningProcesses) or []
        self._pids |= {process.pid for process in processes}

    def row(self) -> dict:
        """Return the device-state columns of the row; None where NVML has no answer."""
        medians = {k: statistics.median(v) if v else None for k, v in self._samples.items()}
        return {**medians, "throttle_reasons": " ".join(sorted(self._throttles))}

    def flags(self) -> list[str]:
        """Return which of the flags throttled, clock_drift and shared_gpu the row has."""
        flags = ["throttled"] if self._throttles else []
        flags += ["clock_drift"] if drifted(self._samples["sm_clock_mhz"]) else []
        # One is this process itself, which NVML may list under another pid in a container.
        return flags + (["shared_gpu"] if len(self._pids) > 1 else [])

    def _ask(self, question):
        try:
            return question(self._gpu)
        except pynvml.NVMLError:
            return None  # not every GPU and container supports every query


def drifted(clocks_mhz: list[float]) -> bool:
    """Return whether the clock varied by more than CLOCK_DRIFT of its median."""
    if not clocks_mhz:
        return False
    return max(clocks_mhz) - min(clocks_mhz) > CLOCK_DRIFT * statistics.median(clocks_mhz)
