"""Record the code, the versions and the machine behind a row.

Imports no torch, so that a sweep can be planned without it.
"""

import functools
import hashlib
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import kernels
import operations

from . import ROOT
from .device.gpus import open_nvml
from .row import COLUMNS, one_line

if TYPE_CHECKING:
    from .device.opened import Device

# All but recorded rows, which no measurement depends on: after the first sweep, every other one
# would find a dirty checkout.
GIT_PATHS = (".", ":!data/recorded")
# Variables that name another repository than the one in the folder.
GIT_VARIABLES = {
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE"),
    *("GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
}
# Prefixes of torch's own environment variables, which can move its times on any device.
SWITCH_PREFIXES = ("PYTORCH_", "TORCH_")
# Endings of variables that name folders, versions and architectures, which change no kernel.
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
WITH_COLUMNS = {"torch", "triton", "cuda", "kernels"}  # packages with columns of their own


def measure_sha256(op: str) -> str:
    """Return the hash over the code of measure/ and of an operation, and the columns of the row.

    Raises KeyError for an operation that the project does not have.
    """
    parts = measure_code(), _operation_code(op), *COLUMNS
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@functools.cache
def measure_code() -> str:
    """Return the hash over the code of measure/, and of the CUDA C++ that it compiles.

    It leaves out __main__.py, whose help and summary change no number.
    """
    files = {path for path in (ROOT / "measure").rglob("*.py") if path.name != "__main__.py"}
    launching = (path for path in files if path.with_suffix(".cu").exists())
    used = {each for path in launching for each in kernels.used_files(path)}
    return kernels.code_sha256(files | {path for path in used if path.suffix in (".cu", ".cuh")})


@functools.cache
def _operation_code(op: str) -> str:
    return kernels.code_sha256(
        {Path(operations.__file__), *kernels.used_files(operations.file(op))}
    )


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
        "measure_sha256": measure_sha256(op),
        "hostname": platform.node(),
    }


def versions(variant: str) -> dict:
    """Return the columns of what compiles and runs a variant."""
    import torch

    return {
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "triton": _version("triton"),
        **(_cuda_versions() if "cuda" in kernels.packages(variant) else {}),
        "package_versions": _package_versions(variant),
    }


def switches(is_cpu: bool) -> str:
    """Return "NAME=value …" of the environment variables that can move the baseline, or "none"."""
    names = CPU_SWITCHES if is_cpu else GPU_SWITCHES
    given = (
        f"{name}={shlex.quote(value)}"
        for name, value in sorted(os.environ.items())
        if name in names or (name.startswith(SWITCH_PREFIXES) and not name.endswith(NO_SWITCHES))
    )
    return one_line(" ".join(given) or "none")


def _package_versions(variant: str) -> str | None:
    """Return "name==version …" of the packages that a variant imports and that lack a column."""
    others = kernels.packages(variant) - sys.stdlib_module_names - WITH_COLUMNS
    if not others:
        return None
    from importlib import metadata

    installed = metadata.packages_distributions()
    names = sorted({name for module in others for name in installed.get(module, ())})
    return " ".join(f"{name}=={metadata.version(name)}" for name in names) or None


def _version(package: str) -> str | None:
    from importlib import metadata  # takes 10 ms, which the measuring command does not need

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cuda_versions() -> dict:
    """Return the versions of the CUDA C++ compiler and launcher; None if not installed."""
    try:
        from cuda.bindings import nvrtc

        _, major, minor = nvrtc.nvrtcVersion()
        compiler = f"{major}.{minor}"
    except Exception:  # any error: the variant then fails to load, and the row says why
        compiler = None
    return {"cuda_core": _version("cuda-core"), "nvrtc": compiler}


def git(*words: str) -> str:
    """Return what git says of this checkout, and of no repository that the project lies in.

    Raises OSError without git, and subprocess.SubprocessError where git refuses or fails.
    """
    # A hook of another repository, for example, runs with its GIT_DIR.
    environment = {k: v for k, v in os.environ.items() if k not in GIT_VARIABLES}
    environment["GIT_CEILING_DIRECTORIES"] = str(ROOT.parent)
    # --no-optional-locks: otherwise git may lock the index, and a commit at that time would fail.
    command = ["git", "--no-optional-locks", "-C", str(ROOT), *words]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=True)
    return done.stdout.decode(errors="replace")


def git_state() -> dict:
    """Return ``git_commit`` and ``git_dirty`` of this checkout.

    Both are None without a checkout of this project, a commit, or a git that may read it.
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
