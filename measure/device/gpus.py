"""Name GPUs, and find those of this machine. Needs neither torch nor a driver."""

import contextlib
import os
import re
import shutil
import subprocess
from types import ModuleType
from typing import NamedTuple

CPU = "cpu"
AUTO = "auto"

# Words of a device's name that do not distinguish models: vendor, brand, form factor, memory. A
# slug covers boards of one model with different memory; the row's gpu_name distinguishes them.
_NOISE = re.compile(
    r"nvidia|geforce|tesla|quadro|amd|instinct|radeon|gpu|graphics|generation"
    r"|pcie?|sxm\d*|nvl|hbm\d*e?|\d+gb",
    re.IGNORECASE,
)


def slug(name: str) -> str:
    """Return 'a100' for 'NVIDIA A100-PCIE-40GB', 'rtx3090' for 'NVIDIA GeForce RTX 3090'."""
    words = re.split(r"[^A-Za-z0-9]+", name)
    return "".join(w.lower() for w in words if w and not _NOISE.fullmatch(w))


class Gpu(NamedTuple):
    """Name a GPU, or a MIG slice of one, as CUDA_VISIBLE_DEVICES may."""

    uuid: str
    slug: str


def visible_gpus() -> list[Gpu]:
    """Return the GPUs that a process started here may use; each MIG slice is a GPU.

    NVML tells, which needs no CUDA context; [] without NVML. CUDA_VISIBLE_DEVICES is honoured; its
    numbers are in PCI bus order, as nvidia-smi shows them.
    """
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # no library, no driver: pynvml has an exception for each
        return []
    try:
        return _usable(pynvml)
    except pynvml.NVMLError:
        return []
    finally:
        pynvml.nvmlShutdown()


def _usable(nvml: ModuleType) -> list[Gpu]:
    boards = []
    for index in range(nvml.nvmlDeviceGetCount()):
        with contextlib.suppress(nvml.NVMLError):  # a board that is broken, or not ours
            boards.append(nvml.nvmlDeviceGetHandleByIndex(index))
    return _chosen(boards, os.environ.get("CUDA_VISIBLE_DEVICES"))


def _chosen(boards: list, visible_devices: str | None) -> list[Gpu]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES names, in its order, up to the first bad word."""
    slices = [_slices(board) for board in boards]
    if visible_devices is None:
        return [gpu for each in slices for gpu in each]
    # a board that is divided into MIG slices, named as a whole, is its slices
    by_uuid = [(gpu.uuid, [gpu]) for each in slices for gpu in each]
    by_uuid += [(_gpu(board).uuid, each) for board, each in zip(boards, slices, strict=True)]
    found = []
    for word in filter(None, (part.strip() for part in visible_devices.split(","))):
        if word.isdigit() and int(word) < len(boards):
            found += slices[int(word)]
            continue
        matching = [named for uuid, named in by_uuid if uuid.startswith(word)]
        if not matching:
            break
        found += matching[0]
    return list(dict.fromkeys(found))


def _slices(board) -> list[Gpu]:
    """Return the MIG slices of a board; the board itself if it has none."""
    import pynvml

    found = []
    with contextlib.suppress(pynvml.NVMLError):  # boards without MIG do not support the question
        if pynvml.nvmlDeviceGetMigMode(board)[0]:
            for index in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(board)):
                with contextlib.suppress(pynvml.NVMLError):  # no slice of this index
                    found.append(_gpu(pynvml.nvmlDeviceGetMigDeviceHandleByIndex(board, index)))
    return found or [_gpu(board)]


def _gpu(handle) -> Gpu:
    import pynvml

    return Gpu(pynvml.nvmlDeviceGetUUID(handle), slug(pynvml.nvmlDeviceGetName(handle)))


def visible_slugs() -> list[str]:
    """Return the slugs of the GPUs that a job started here would see, in order.

    Without NVML, nvidia-smi tells, so that a workflow can be planned without NVIDIA's package.
    CUDA_VISIBLE_DEVICES is honoured as CUDA honours it: an empty value hides every GPU.
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
        return []  # the driver does not answer; a job that needs a GPU says so itself
    return [slug(line) for line in done.stdout.splitlines() if line.strip()]


def resolve(gpu: str) -> str:
    """Return the first GPU of this machine, or ``cpu``, for ``auto``; else the name given."""
    if gpu != AUTO:
        return gpu
    return next(iter(visible_slugs()), CPU)
