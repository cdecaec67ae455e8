"""Check that this machine can measure what a sweep needs: its GPUs, a compiler, headers."""

import os
import shutil
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from snakemake.exceptions import WorkflowError

from measure.device import gpus


def check(wanted: Iterable[str]) -> None:
    """Raise WorkflowError unless this machine can measure on each of these GPUs."""
    if fault := fault_of(wanted):
        raise WorkflowError(fault)


def fault_of(wanted: Iterable[str]) -> str | None:
    """Return None, or which of these GPUs or of Triton's tools is missing and what to do."""
    wanted = set(wanted) - {gpus.CPU}
    here = gpus.visible() if wanted else []
    absent = sorted(wanted - set(here))
    if not absent:
        return missing_tool() if wanted else None
    return (
        f"this machine cannot measure {', '.join(absent)}: it has "
        f"{', '.join(here) or 'no GPU that nvidia-smi shows'}. Set 'gpus: [auto]' in the config "
        "to measure what is here, or run on a machine that has it; the report has recorded rows of "
        "other GPUs in any case."
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
