"""Provenance of a row: versions and machine."""

import importlib.metadata
import platform

import kernels

from .device import compiled_cuda
from .device.device import Device
from .fingerprint import measure_sha256


def provenance(device: Device, variant: str, git_state: dict) -> dict:
    """The row's provenance columns, less the clock's."""
    import torch

    driver = None
    if not device.is_cpu:
        import pynvml

        pynvml.nvmlInit()
        driver = pynvml.nvmlSystemGetDriverVersion()
    return {
        "gpu_name": device.name,
        "gpu_uuid": device.uuid,
        "driver": driver,
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "triton": _version("triton"),
        **(_cuda_versions() if compiled_cuda.uses(variant) else {}),
        "python": platform.python_version(),
        **git_state,
        "kernel_sha256": kernels.sha256(variant, device.slug),
        "measure_sha256": measure_sha256(),
        "hostname": platform.node(),
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cuda_versions() -> dict:
    """Of what CUDA C++ is compiled and launched with; empty where it is not installed."""
    try:
        from cuda.bindings import nvrtc

        _, major, minor = nvrtc.nvrtcVersion()
        compiler = f"{major}.{minor}"
    except Exception:  # whatever is wrong with it, loading the variant will say it in the row
        compiler = None
    return {"cuda_core": _version("cuda-core"), "nvrtc": compiler}
