"""Check that this machine can do what a sweep needs: write rows, and measure on its GPUs."""

import os
import shutil
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from snakemake.exceptions import WorkflowError

from measure.device import gpus


def require_tools(requested: Iterable[str]) -> None:
    """Raise WorkflowError unless rows can be written, and each of these GPUs and Triton work."""
    for folder in filter(os.path.exists, ("results", "results/rows")):
        if not os.access(folder, os.W_OK):
            raise WorkflowError(
                f"{folder}: cannot be written (a read-only disk, or a folder of another user); "
                "make it writable, or give another place: --directory FOLDER"
            )
    requested = set(requested) - {gpus.CPU}
    present = gpus.visible_slugs() if requested else []
    if absent := sorted(requested - set(present)):
        raise WorkflowError(
            f"this machine cannot measure {', '.join(absent)}: it has "
            f"{', '.join(present) or 'no GPU that NVML shows'}. Set 'gpus' to such a name, or to "
            "[auto], to measure what is here, or run on a machine that has it; the report has "
            "recorded rows of other GPUs in any case."
        )
    if requested and (fault := missing_tool()):
        raise WorkflowError(fault)


def require_slurm() -> None:
    """Raise WorkflowError without Slurm's commands: Snakemake would wait for ever."""
    if shutil.which("sbatch") is None:
        raise WorkflowError(
            "the profile submits jobs to Slurm, and this machine has no sbatch; call Snakemake on "
            "a login node of the cluster, or without --workflow-profile to measure here"
        )


def missing_tool() -> str | None:
    """Return None, or what Triton lacks to build its launcher: a compiler or Python's headers."""
    compilers = filter(None, (os.environ.get("CC"), "cc", "gcc", "clang"))
    if not any(map(shutil.which, compilers)):
        return "Triton needs a C compiler on a machine with a GPU: sudo apt install gcc"
    header = Path(sysconfig.get_paths()["include"], "Python.h")
    if not header.is_file():
        return f"Triton needs Python's headers ({header} is missing): sudo apt install python3-dev"
    return None
