"""``make record``: measure the standard sweeps on the GPU that is here, and record them.

``make record SWEEPS="fused_softmax frontier"`` does so with these only, and keeps what is recorded
of the others. Interrupted, it goes on where it stopped. What it records lies in results/recording/
until all is measured and checked, so that the checkout stays clean; then it is moved to
data/recorded/.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from measure import fingerprint
from measure.device import gpus
from measure.point import nearest

from .machine import cannot_compile

# Each a file of sweeps/, and one table. That of the default sweep has every variant, not only those
# of its protocol's authors.
SWEEPS = (
    "online_softmax",
    "online_softmax_16bit",
    "fused_softmax",
    "oneflow",
    "oneflow_wide",
    "log_softmax",
    "softmax_backward",
    "frontier",
    "peers",
)
DEFAULT = SWEEPS[0]
COMMAND = "make record"


class CannotRecord(RuntimeError):
    """Why nothing can be recorded here, and what to do."""


def main(wanted: Sequence[str] = ()) -> int:
    """Record these sweeps, or all.

    Exit code 0 when the folder is ready, 2 where it cannot be, else that of what failed.
    """
    try:
        sweeps, again = chosen(wanted), repeated_by(wanted)
        gpu = the_gpu()
        check_clean()
    except CannotRecord as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    staging, recorded = Path("results", "recording", gpu), Path("data", "recorded", gpu)
    shutil.rmtree(fingerprint.ROOT / staging, ignore_errors=True)  # of a run that was interrupted
    try:
        for sweep in sweeps:
            for words in commands(sweep, gpu, staging, again):
                subprocess.run(words, cwd=fingerprint.ROOT, check=True)
        check = [sys.executable, "-m", "analysis", "check-recorded"]
        subprocess.run([*check, str(staging)], cwd=fingerprint.ROOT, check=True)
        take(fingerprint.ROOT / staging, fingerprint.ROOT / recorded)
        subprocess.run([*check, str(recorded)], cwd=fingerprint.ROOT, check=True)
    except subprocess.CalledProcessError as error:
        print(
            f"error: not recorded: {error.cmd[2]} ended with {error.returncode}. What was measured "
            f"is kept: put right what it says, and call `{again}` again",
            file=sys.stderr,
        )
        return error.returncode
    print(f"{recorded} is ready: git add it, commit, and open a pull request")
    return 0


def chosen(wanted: Sequence[str]) -> Sequence[str]:
    """These sweeps, or all. Raises CannotRecord where one is not a standard sweep."""
    for sweep in wanted:
        if sweep not in SWEEPS:
            raise CannotRecord(
                f"{sweep!r} is not one of the standard sweeps{nearest(sweep, SWEEPS)}"
            )
    return tuple(dict.fromkeys(wanted)) or SWEEPS


def repeated_by(wanted: Sequence[str]) -> str:
    """The command that records these sweeps."""
    return f'{COMMAND} SWEEPS="{" ".join(wanted)}"' if wanted else COMMAND


def the_gpu() -> str:
    """The short name of the first GPU here. Raises CannotRecord where there is none."""
    found = gpus.visible()
    if not found:
        raise CannotRecord(
            "no GPU here that nvidia-smi shows; rows of a CPU are not recorded. Run it on the "
            "machine whose GPU is to be recorded"
        )
    if lacks := cannot_compile():
        raise CannotRecord(lacks)
    return found[0]


def check_clean() -> None:
    """Raise CannotRecord unless rows will name a commit that has the code which measures them."""
    command = ["git", "status", "--porcelain", "--", *fingerprint.CODE]
    done = subprocess.run(command, cwd=fingerprint.ROOT, capture_output=True, text=True)
    if done.returncode:
        raise CannotRecord(
            "this is no git checkout, so rows could not say what made them; clone the project"
        )
    if edited := done.stdout.splitlines():
        raise CannotRecord(
            f"files are not committed ({edited[0].strip()}, {len(edited)} in all), and rows must "
            "say what made them; commit them, or `git stash --include-untracked`"
        )


def commands(sweep: str, gpu: str, staging: Path, again: str) -> list[list[str]]:
    """What measures a sweep, and what records it below ``staging``; ``again``: what does both."""
    snakemake = [sys.executable, "-m", "snakemake", "--cores", "all", "--until", "merge"]
    # For each GPU of this kind the point that it times, and one that waits for it: else the GPU
    # would wait, after every point, until Snakemake has begun the next.
    snakemake += ["--resources", f"gpu={2 * max(1, gpus.visible().count(gpu))}"]
    file = "config.yaml" if sweep == DEFAULT else f"sweeps/{sweep}.yaml"
    measure = [*snakemake, "--configfile", file, "--config", f"gpus=[{gpu}]"]
    words = {
        "rows": f"results/measurements/{gpu}.csv",
        "cells": "results/cells",
        "output": str(staging),
        "command": again,
    }
    options = [word for name, value in words.items() for word in (f"--{name}", value)]
    return [measure, [sys.executable, "-m", "analysis", "record", *options]]


def take(staging: Path, recorded: Path) -> None:
    """Move the files of one folder into the other, over older ones of the same names."""
    recorded.mkdir(parents=True, exist_ok=True)
    for path in sorted(staging.iterdir()):
        shutil.move(path, recorded / path.name)
    staging.rmdir()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
