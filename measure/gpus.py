"""Short names of GPUs, and which GPU this machine has. Needs neither torch nor a driver."""

import os
import re
import shutil
import subprocess

CPU = "cpu"
AUTO = "auto"

# Words of a device's name that do not tell one model from another in our tables: vendor, brand,
# form factor, memory. Two boards of one model with other memory share a slug; the row's gpu_name
# tells them apart.
_NOISE = re.compile(
    r"nvidia|geforce|tesla|quadro|amd|instinct|radeon|gpu|graphics|generation"
    r"|pcie?|sxm\d*|nvl|hbm\d*e?|\d+gb",
    re.IGNORECASE,
)


def slug(name: str) -> str:
    """'NVIDIA A100-PCIE-40GB' -> 'a100', 'NVIDIA GeForce RTX 3090 Ti' -> 'rtx3090ti'."""
    words = re.split(r"[^A-Za-z0-9]+", name)
    return "".join(w.lower() for w in words if w and not _NOISE.fullmatch(w))


def visible() -> list[str]:
    """Slugs of the GPUs that a job started here would see, in order; [] where there is none.

    Asks nvidia-smi, so that a workflow can be planned without torch. CUDA_VISIBLE_DEVICES is
    honoured as CUDA honours it: an empty value hides every GPU.
    """
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
        return []  # a driver that does not answer is no GPU; a job that needs one says so itself
    return [slug(line) for line in done.stdout.splitlines() if line.strip()]


def resolve(gpu: str) -> str:
    """``auto`` becomes the first GPU of this machine, or ``cpu``; any other name stays."""
    if gpu != AUTO:
        return gpu
    return next(iter(visible()), CPU)
