"""Can this machine measure what a sweep wants: are the GPUs here, and what Triton needs?"""

import os
import shutil
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from measure.device import gpus


def lacks(wanted: Iterable[str]) -> str | None:
    """None, or one message: which of the GPUs, or which tool for them, is not here; what to do."""
    here = gpus.visible()
    absent = sorted(set(wanted) - {*here, gpus.CPU})
    if not absent:
        return cannot_compile() if set(wanted) - {gpus.CPU} else None
    return (
        f"this machine cannot measure {', '.join(absent)}: it has "
        f"{', '.join(here) or 'no GPU that nvidia-smi shows'}. Set 'gpus: [auto]' in the config "
        "to measure what is here, or run on a machine that has it; recorded rows of other GPUs "
        "are in the report without being asked for."
    )


def cannot_compile() -> str | None:
    """None, or what Triton lacks here to build its launcher for a GPU: a compiler, or headers."""
    compilers = filter(None, (os.environ.get("CC"), "cc", "gcc", "clang"))
    if not any(map(shutil.which, compilers)):
        return "Triton needs a C compiler on a machine with a GPU: sudo apt install gcc"
    header = Path(sysconfig.get_paths()["include"], "Python.h")
    if not header.is_file():
        return f"Triton needs Python's headers ({header} is missing): sudo apt install python3-dev"
    return None
