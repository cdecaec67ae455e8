"""Open the device that a point runs on."""

import os
from dataclasses import dataclass
from pathlib import Path

import psutil
import torch

from ..errors import NoRowError
from . import gpus


@dataclass(frozen=True)
class Device:
    """Describe a device, and the cache that must not hold a call's data in cold timing."""

    slug: str
    torch_device: torch.device
    name: str
    uuid: str | None
    cache_bytes: int  # L2 of a GPU, last-level cache of a CPU

    @property
    def is_cpu(self) -> bool:
        return self.torch_device.type == "cpu"

    def free_bytes(self) -> int:
        """Return how many bytes could be allocated now."""
        if self.is_cpu:
            return psutil.virtual_memory().available
        return torch.cuda.mem_get_info(self.torch_device)[0]


def open_device(gpu: str) -> Device:
    """Return the device of a slug, and make it torch's current one.

    Raises NoRowError, so that no row is ever written under another device's name.
    """
    if gpu == gpus.CPU:
        return Device(gpu, torch.device("cpu"), _cpu_name(), None, _last_level_cache_bytes())
    present = []
    for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        properties = torch.cuda.get_device_properties(index)
        present.append(gpus.slug(properties.name))
        if gpu == present[-1]:
            return _gpu(index, properties, gpu)
    have = f"this machine has {', '.join(present)}" if present else "torch sees no GPU here"
    named = "one of these names (also in the gpus.yaml of a cluster), " * bool(present)
    raise NoRowError(
        f"gpu {gpu!r} was asked for, but {have}; use {named}'auto', 'cpu', or run on a machine "
        "that has it"
    )


def _gpu(index: int, properties, slug: str) -> Device:
    device = torch.device("cuda", index)
    torch.cuda.set_device(device)
    uuid = str(properties.uuid)  # lacks the prefix; for a MIG slice, it is the board's
    slice_ = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    if slice_.startswith("MIG-"):  # a process sees at most one slice
        uuid = slice_
    elif not uuid.startswith(("GPU-", "MIG-")):
        uuid = f"GPU-{uuid}"
    return Device(slug, device, properties.name, uuid, properties.L2_cache_size)


def _cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "CPU"


def _last_level_cache_bytes() -> int:
    """Return the largest cache that Linux reports for the first core; 32 MiB if it reports none."""
    sizes = [
        int(path.read_text(encoding="utf-8").strip().removesuffix("K")) * 1024
        for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    ]
    return max(sizes, default=0) or 32 * 2**20
