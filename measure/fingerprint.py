"""Compute fingerprints: eight digits that stand for the code and the packages behind a row.

The fingerprint is a hash over the code that a point loads, and over the versions of the packages
that compile and run it. It is part of a row's path. So a row that exists is valid, whatever
happened to file times or to Snakemake's records, and other code has its rows at other paths.

The versions are those of the Python that plans the sweep, read without importing a package. If it
lacks torch, as under ``--use-conda``, they are the pins of environment.yml, from which the jobs'
environment is made. The process that measures computes its environment's fingerprint, and
refuses to measure if that differs.

Driver and GPU are not included, because planning may run on a machine without them. Rows of
different drivers are not ranked together.
"""

import functools
import hashlib
import re
import sys
from pathlib import Path

import kernels
import operations

from . import ROOT
from .row import SCHEMA

# Distributions that matter to every point, whose rooflines are in Triton and in CUDA C++.
COMMON = ("torch", "triton", "cuda-core", "nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")
MODULES = {"torch", "triton", "cuda"}  # the names by which variants import COMMON
PINS = ROOT / "environment.yml"
DIGITS = 8
UNMEASURED = {"__main__.py", "profile.py"}  # modules of measure/ that no point loads
# Separates the fingerprint from the number of the attempt at a row; see planning/attempts.py.
ATTEMPT_MARK = "_"


@functools.cache
def fingerprint(variant: str, op: str) -> str:
    """Return the fingerprint of the current code and packages.

    Raises KeyError for a variant or an operation that the project does not have.
    """
    parts = [kernels.kernel_sha256(variant), measure_sha256(op)]
    parts += [f"{name}=={version}" for name, version in sorted(versions(variant).items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:DIGITS]


def without_attempt(fingerprint: str) -> str:
    """Return the fingerprint of a row without the number of the attempt."""
    return fingerprint.partition(ATTEMPT_MARK)[0]


@functools.cache
def measure_sha256(op: str) -> str:
    """Return the hash over all code that measures an operation, except the variant's.

    It covers measure/, what that imports of kernels/ and operations/, the CUDA C++ that it
    compiles, the operation's file, and the columns of a row without their explanations. The command
    line and the profiler change no number and are left out. Raises KeyError for an unknown op.
    """
    columns = (f"{c.name},{c.type},{' '.join(c.allowed)}" for c in SCHEMA.values())
    parts = kernels.code_sha256(measuring_files(operations.file(op))), *columns
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@functools.cache
def measuring_files(operation: Path | None = None) -> frozenset[Path]:
    """Return the files that every point loads and, if given, those of an operation."""
    if operation:
        return measuring_files() | set(kernels.loaded_files(operation))
    every = (ROOT / "measure").rglob("*.py")
    modules = (path for path in every if path.name not in UNMEASURED)
    return frozenset(file for path in modules for file in kernels.loaded_files(path))


@functools.cache
def versions(variant: str) -> dict[str, str]:
    """Return distribution -> version, "" if absent, for COMMON and the variant's packages."""
    names = [*COMMON, *peer_distributions(variant)]
    installed = {name: installed_version(name) for name in names}
    if not installed["torch"]:
        installed = {name: version or _pins().get(name, "") for name, version in installed.items()}
    return installed


@functools.cache
def peer_distributions(variant: str) -> list[str]:
    """Return the distributions of the packages that a variant imports, apart from MODULES.

    For a package that is not installed, it is the imported name, with hyphens.
    """
    modules = kernels.packages(variant) - sys.stdlib_module_names - MODULES - {"kernels"}
    if not modules:
        return []
    from importlib import metadata

    owners = metadata.packages_distributions()  # reads every installed package: 0.3 s
    names = {name for module in modules for name in owners.get(module, [module.replace("_", "-")])}
    return sorted(names)


def installed_version(distribution: str) -> str:
    """Return the version of a distribution without importing it; "" if it is not installed."""
    from importlib import metadata  # takes 10 ms, which the measuring command does not need

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


@functools.cache
def _pins() -> dict[str, str]:
    """Return the versions that environment.yml pins."""
    text = PINS.read_text(encoding="utf-8") if PINS.is_file() else ""
    return dict(re.findall(r"^\s*- ([\w.-]+)==(\S+)$", text, re.MULTILINE))
