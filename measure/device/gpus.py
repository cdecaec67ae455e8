"""Name GPUs by slugs, and find this machine's GPUs by NVML, without torch or a CUDA context."""

import contextlib
import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from ..errors import PointError
from ..point import CPU

AUTO = "auto"
CONTROL_DEVICE = Path("/dev/nvidiactl")  # exists while NVIDIA's driver is loaded

# Words in the name of a device that do not distinguish boards: vendor and brand.
_BRAND = re.compile(
    r"nvidia|geforce|tesla|quadro|amd|instinct|radeon|gpu|graphics|generation", re.IGNORECASE
)
# Words that distinguish boards of one family: form factor and memory. An H100 PCIe has half the
# bandwidth of an H100 SXM5.
_BOARD = re.compile(r"pcie?|sxm\d*|nvl|hbm\d*e?|\d+gb?", re.IGNORECASE)
SLICE = " MIG "  # separates the board from the size in the name of a MIG slice
# Boards whose rows were recorded before slugs named the board.
_RECORDED = {"NVIDIA H100 80GB HBM3": "h100"}


def slug(name: str) -> str:
    """Return the slug of a device's name, such as `rtx3090` for `NVIDIA GeForce RTX 3090`.

    Form factor and memory follow the family: `a100_sxm4_80gb` for `NVIDIA A100-SXM4-80GB`, and
    `a100_sxm4_80gb_mig_3g_40gb` for a MIG slice of it.
    """
    board, _, size = name.partition(SLICE)
    words = [word.lower() for word in re.split(r"[^A-Za-z0-9]+", board) if word]
    details = [word for word in words if _BOARD.fullmatch(word)]
    family = "".join(word for word in words if not (_BRAND.fullmatch(word) or word in details))
    of_slice = ["mig", *re.findall(r"[a-z0-9]+", size.lower())] if size else []
    return "_".join([_RECORDED.get(board) or "_".join([family, *details]), *of_slice])


UUID_PREFIXES = "GPU-", "MIG-"  # the beginnings of UUIDs


class VisibleGpu(NamedTuple):
    """Name a GPU, or a MIG slice of a GPU, by a UUID for CUDA_VISIBLE_DEVICES."""

    uuid: str
    slug: str


def open_nvml() -> ModuleType:
    """Return pynvml, with NVML open until this process ends. Raises ImportError and NVMLError."""
    import pynvml  # here, because planning may run without it

    pynvml.nvmlInit()  # repeated calls cost nothing
    return pynvml


def visible_gpus() -> list[VisibleGpu]:
    """Return the GPUs that a process started here may use; each MIG slice counts as a GPU.

    Returns [] without NVML. Honours CUDA_VISIBLE_DEVICES, whose numbers are taken in PCI bus order,
    like those of nvidia-smi.
    """
    try:
        nvml = open_nvml()
        count = nvml.nvmlDeviceGetCount()
    except Exception:  # the package, the library or the driver is missing
        return []
    boards = []
    for index in range(count):
        # raised for a board outside the job's cgroup, which NVML counts, but CUDA does not
        with contextlib.suppress(nvml.NVMLError):
            board = nvml.nvmlDeviceGetHandleByIndex(index)
            boards.append((nvml.nvmlDeviceGetUUID(board), _slices(nvml, board)))
    return _chosen(boards, os.environ.get("CUDA_VISIBLE_DEVICES"))


def _chosen(
    boards: list[tuple[str, list[VisibleGpu]]], visible_devices: str | None
) -> list[VisibleGpu]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES names, parsed as CUDA 13.0 was observed to do it.

    The first word determines whether all are numbers or UUIDs. CUDA uses the words before the first
    one that matches no GPU or several; if a GPU comes twice, it uses none. ``boards`` has the UUID
    and the slices of each board; a board's number or UUID stands for all its slices.
    """
    if visible_devices is None:
        return [gpu for _, slices in boards for gpu in slices]
    kind = next((kind for kind in UUID_PREFIXES if visible_devices.startswith(kind)), None)
    named = {gpu.uuid: [gpu] for _, slices in boards for gpu in slices} | dict(boards)
    chosen: list[VisibleGpu] = []
    for word in visible_devices.split(","):
        if kind:
            matching = [gpus for uuid, gpus in named.items() if _begins(uuid, word, kind)]
        else:
            matching = [slices for _, slices in boards][_number(word) :][:1]
        if len(matching) != 1:
            break
        if set(matching[0]) & set(chosen):
            return []
        chosen += matching[0]
    return chosen


def _begins(uuid: str, word: str, kind: str) -> bool:
    """Return whether a word is a prefix of a UUID; what follows a complete UUID is ignored."""
    same_kind = word.startswith(kind) and uuid.startswith(kind)
    return same_kind and uuid.lower().startswith(word[: len(uuid)].lower())


def _number(word: str) -> int:
    """Return the number at the beginning of a word, like C's strtol; sys.maxsize if none."""
    number = re.match(r"\s*([+-]?\d+)", word)
    # CUDA keeps 32 bits, so a negative number becomes a large one
    return int(number[1]) % 2**32 if number else sys.maxsize


def _slices(nvml: ModuleType, board) -> list[VisibleGpu]:
    """Return the MIG slices of a board, or the board itself if it has none. Raises NVMLError."""
    handles = []
    with contextlib.suppress(nvml.NVMLError):  # raised for boards without MIG
        if nvml.nvmlDeviceGetMigMode(board)[0]:
            for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(board)):
                with contextlib.suppress(nvml.NVMLError):  # no slice of this index
                    handles.append(nvml.nvmlDeviceGetMigDeviceHandleByIndex(board, index))
    return [
        VisibleGpu(nvml.nvmlDeviceGetUUID(handle), slug(nvml.nvmlDeviceGetName(handle)))
        for handle in handles or [board]
    ]


def visible_slugs() -> list[str]:
    """Return the slugs of the GPUs that a job started here would see, in order."""
    return [gpu.slug for gpu in visible_gpus()]


def resolve(gpu: str) -> str:
    """Return ``gpu``, or for ``auto`` the first GPU of this machine, or ``cpu`` if it has none.

    Raises PointError if the machine has NVIDIA's driver, but the package to find GPUs is missing.
    """
    if gpu != AUTO:
        return gpu
    if CONTROL_DEVICE.exists() and importlib.util.find_spec("pynvml") is None:
        raise PointError(
            "gpu 'auto': pip install nvidia-ml-py, by which GPUs are found, or name one"
        )
    return next(iter(visible_slugs()), CPU)
