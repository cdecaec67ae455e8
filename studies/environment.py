"""Where and with what a study was measured, in a YAML file beside its table."""

import importlib.metadata
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import yaml

from measure.fingerprint import git_state, measure_sha256

PACKAGES = (
    *("torch", "triton", "cuda-bench", "cuda-bindings", "cuda-core", "numpy", "nvidia-ml-py"),
    *("nvidia-cuda-runtime", "nvidia-cuda-cupti"),
)


def write(path: Path, title: str) -> None:
    """Write what is known now, under a title. Asks nvidia-smi, opens no CUDA context."""
    facts = {"title": title, "measured": _now(), **_gpu()}
    facts |= git_state() | {"measure_sha256": measure_sha256()}
    facts |= {"python": platform.python_version(), "versions": _versions()}
    path.write_text(yaml.safe_dump(facts, sort_keys=False, allow_unicode=True))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _gpu() -> dict:
    """Name, driver and VBIOS of the first GPU; empty where there is none."""
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return {}
    facts = ("name", "driver_version", "vbios_version", "power.limit")
    command = [smi, "--id=0", f"--query-gpu={','.join(facts)}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    values = [text.strip() for text in done.stdout.strip().split(",")]
    return dict(zip(("gpu_name", "driver", "vbios", "power_limit"), values, strict=False))


def _versions() -> dict:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = None
    return found
