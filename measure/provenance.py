"""Record the code, the versions and the machine behind a row.

This module does not import torch, so that a sweep can be planned without it.
"""

import os
import platform
import shlex
import subprocess
from typing import TYPE_CHECKING

import kernels

from . import ROOT, fingerprint
from .device.gpus import open_nvml
from .row import SCHEMA_VERSION, one_line

if TYPE_CHECKING:
    from .device.opened import Device

# Recorded rows are left out, because no measurement depends on them, and the first sweep's rows
# would make the checkout dirty for all others.
GIT_PATHS = (".", ":!data/recorded")
# Variables by which git would use another repository than that of the folder.
GIT_VARIABLES = {
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE"),
    *("GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
}
# Prefixes of torch's own environment variables, which can change its times on any device.
SWITCH_PREFIXES = ("PYTORCH_", "TORCH_")
# Suffixes of variables with folders, versions and architectures, which change no kernel.
NO_SWITCHES = ("_HOME", "_PATH", "_DIR", "_VERSION", "_LIST")
# Variables of CUDA, for a GPU. Sources: CUDA C++ Programming Guide, "CUDA Environment Variables";
# the documentation of MPS and of cuBLAS.
GPU_SWITCHES = {
    *("CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "CUDA_FORCE_PTX_JIT", "CUDA_FORCE_JIT"),
    *("CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_SCALE_LAUNCH_QUEUES", "CUDA_AUTO_BOOST"),
    *("CUDA_GRAPHS_USE_NODE_PRIORITY", "CUDA_INJECTION64_PATH", "NVIDIA_TF32_OVERRIDE"),
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
}
# Variables of threads and of instruction sets, for a CPU.
CPU_SWITCHES = {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_PROC_BIND", "ATEN_CPU_CAPABILITY"}


def columns(device: "Device", variant: str, op: str) -> dict:
    """Return the row's provenance columns, except those of the clock."""
    return {
        "gpu_name": device.name,
        "gpu_uuid": device.uuid,
        "driver": None if device.is_cpu else open_nvml().nvmlSystemGetDriverVersion(),
        **versions(variant),
        "switches": switches(device.is_cpu),
        "python": platform.python_version(),
        **git_state(),
        "kernel_sha256": kernels.kernel_sha256(variant),
        "measure_sha256": fingerprint.measure_sha256(op),
        "fingerprint": fingerprint.fingerprint(variant, op),
        "schema_version": SCHEMA_VERSION,
        "hostname": platform.node(),
    }


def versions(variant: str) -> dict:
    """Return the columns of what compiles and runs a variant."""
    import torch

    peers = (
        f"{name}=={version}"
        for name in fingerprint.peer_distributions(variant)
        if (version := fingerprint.installed_version(name))
    )
    return {
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "triton": fingerprint.installed_version("triton") or None,
        **(_cuda_versions() if "cuda" in kernels.packages(variant) else {}),
        "package_versions": " ".join(peers) or None,
    }


def switches(is_cpu: bool) -> str:
    """Return "NAME=value …", the environment variables that can affect the baseline, or "none"."""
    names = CPU_SWITCHES if is_cpu else GPU_SWITCHES
    settings = (
        f"{name}={shlex.quote(value)}"
        for name, value in sorted(os.environ.items())
        if name in names or (name.startswith(SWITCH_PREFIXES) and not name.endswith(NO_SWITCHES))
    )
    return one_line(" ".join(settings) or "none")


def _cuda_versions() -> dict:
    """Return the versions of the CUDA C++ compiler and launcher; None if not installed."""
    try:
        from cuda.bindings import nvrtc

        _, major, minor = nvrtc.nvrtcVersion()
        compiler = f"{major}.{minor}"
    except Exception:  # whatever it is, the variant then fails to load, and the row says why
        compiler = None
    return {"cuda_core": fingerprint.installed_version("cuda-core") or None, "nvrtc": compiler}


def git(*words: str) -> str:
    """Return git's output about this checkout, and never about a repository around it.

    Raises OSError without git, and subprocess.SubprocessError if git refuses or fails.
    """
    # A hook of another repository, for example, sets GIT_DIR.
    environment = {k: v for k, v in os.environ.items() if k not in GIT_VARIABLES}
    environment["GIT_CEILING_DIRECTORIES"] = str(ROOT.parent)
    # --no-optional-locks, because git may otherwise lock the index, and make a commit fail.
    command = ["git", "--no-optional-locks", "-C", str(ROOT), *words]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=True)
    return done.stdout.decode(errors="replace")


def git_state() -> dict:
    """Return ``git_commit`` and ``git_dirty`` of this checkout.

    Both are None if there is no checkout, no commit, or no git that can read it.
    """
    words = ["status", "--porcelain=v2", "--branch", "--untracked-files=no", "--", *GIT_PATHS]
    try:
        lines = git(*words).splitlines()
    except (OSError, subprocess.SubprocessError):
        return {"git_commit": None, "git_dirty": None}
    (commit,) = (line.split()[-1] for line in lines if line.startswith("# branch.oid "))
    if commit == "(initial)":  # nothing is committed yet
        return {"git_commit": None, "git_dirty": None}
    return {"git_commit": commit, "git_dirty": any(not line.startswith("# ") for line in lines)}
