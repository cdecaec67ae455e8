"""Name GPUs, and find those of this machine. Needs neither torch nor a driver."""

import contextlib
import os
import re
import shutil
import subprocess
from typing import NamedTuple

from ..point import CPU

AUTO = "auto"

# Words of a device's name that do not distinguish models: vendor, brand, form factor, memory.
# Boards of one model with different memory share a slug; the row's gpu_name distinguishes them.
_NOISE = re.compile(
    r"nvidia|geforce|tesla|quadro|amd|instinct|radeon|gpu|graphics|generation"
    r"|pcie?|sxm\d*|nvl|hbm\d*e?|\d+gb",
    re.IGNORECASE,
)


def slug(name: str) -> str:
    """Return 'a100' for 'NVIDIA A100-PCIE-40GB', 'rtx3090' for 'NVIDIA GeForce RTX 3090'."""
    words = re.split(r"[^A-Za-z0-9]+", name)
    return "".join(w.lower() for w in words if w and not _NOISE.fullmatch(w))


class VisibleGpu(NamedTuple):
    """Name a GPU, or a MIG slice of a GPU, by a UUID for CUDA_VISIBLE_DEVICES."""

    uuid: str
    slug: str


def visible_gpus() -> list[VisibleGpu]:
    """Return the GPUs that a process started here may use; each MIG slice is a GPU.

    Asks NVML, which needs no CUDA context; returns [] without NVML. Honours CUDA_VISIBLE_DEVICES,
    whose numbers count GPUs in PCI bus order, as nvidia-smi does.
    """
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # the package, the library or the driver is missing
        return []
    boards = []
    try:
        for index in range(pynvml.nvmlDeviceGetCount()):
            with contextlib.suppress(pynvml.NVMLError):  # a broken board, or one of another user
                boards.append(pynvml.nvmlDeviceGetHandleByIndex(index))
        return _chosen(boards, os.environ.get("CUDA_VISIBLE_DEVICES"))
    except pynvml.NVMLError:
        return []
    finally:
        pynvml.nvmlShutdown()


def _chosen(boards: list, visible_devices: str | None) -> list[VisibleGpu]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES names, in order, up to the first unknown name."""
    slices = [_slices(board) for board in boards]
    if visible_devices is None:
        return [gpu for part in slices for gpu in part]
    # the UUID of a board that is divided into MIG slices stands for all its slices
    by_uuid = [(gpu.uuid, [gpu]) for part in slices for gpu in part]
    by_uuid += [(_gpu(board).uuid, part) for board, part in zip(boards, slices, strict=True)]
    chosen = []
    for word in filter(None, (part.strip() for part in visible_devices.split(","))):
        if word.isdigit() and int(word) < len(boards):
            chosen += slices[int(word)]
            continue
        matching = [named for uuid, named in by_uuid if uuid.startswith(word)]
        if not matching:
            break
        chosen += matching[0]
    return list(dict.fromkeys(chosen))


def _slices(board) -> list[VisibleGpu]:
    """Return the MIG slices of a board; if it has none, the board itself."""
    import pynvml

    slices = []
    with contextlib.suppress(pynvml.NVMLError):  # raised for boards without MIG
        if pynvml.nvmlDeviceGetMigMode(board)[0]:
            for index in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(board)):
                with contextlib.suppress(pynvml.NVMLError):  # no slice of this index
                    slices.append(_gpu(pynvml.nvmlDeviceGetMigDeviceHandleByIndex(board, index)))
    return slices or [_gpu(board)]


def _gpu(handle) -> VisibleGpu:
    import pynvml

    return VisibleGpu(pynvml.nvmlDeviceGetUUID(handle), slug(pynvml.nvmlDeviceGetName(handle)))


def visible_slugs() -> list[str]:
    """Return the slugs of the GPUs that a job started here would see, in order.

    Without NVML it asks nvidia-smi, so that planning does not need the package pynvml. Honours
    CUDA_VISIBLE_DEVICES as CUDA does: an empty value hides every GPU.
    """
    if found := visible_gpus():
        return [gpu.slug for gpu in found]
    smi = shutil.which("nvidia-smi")
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if smi is None or chosen == "":
        return []
    command = [smi, "--query-gpu=name", "--format=csv,noheader"]
    if chosen is not None:
        command.append(f"--id={chosen}")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return []  # the driver does not answer; a job that needs a GPU then reports the error
    return [slug(line) for line in done.stdout.splitlines() if line.strip()]


def resolve(gpu: str) -> str:
    """Return ``gpu``; for ``auto``, the first GPU of this machine, or ``cpu`` if there is none."""
    if gpu != AUTO:
        return gpu
    return next(iter(visible_slugs()), CPU)
