"""``make record``: measure the standard sweeps on the GPU that is here, and record them.

``make record SWEEPS="fused_softmax frontier"`` records only these and keeps the others. An
interrupted call goes on where it stopped. New tables stay in results/recording/ until all are
measured and checked, so that the checkout stays clean; then they move to data/recorded/.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from measure import fingerprint
from measure.device import gpus
from measure.point import nearest
from planning.machine import missing_tool

# Each is a file of sweeps/ and one table; but the default sweep's table has every variant, not only
# those of its protocol's authors.
SWEEPS = (
    "online_softmax",
    "online_softmax_16bit",
    "fused_softmax",
    "oneflow",
    "oneflow_wide",
    "log_softmax",
    "softmax_backward",
    "log_softmax_backward",
    "frontier",
    "peers",
)
DEFAULT = SWEEPS[0]
CHECK = (sys.executable, "-m", "analysis", "check-recorded")


class CannotRecord(RuntimeError):
    """Nothing can be recorded here; the message says why, and what to do."""


def main(wanted: Sequence[str]) -> int:
    """Record these sweeps, or all; return 0, 2 where that is impossible, or the failure's code."""
    again = f'make record SWEEPS="{" ".join(wanted)}"' if wanted else "make record"
    try:
        for sweep in wanted:
            if sweep not in SWEEPS:
                raise CannotRecord(
                    f"{sweep!r} is not one of the standard sweeps{nearest(sweep, SWEEPS)}"
                )
        gpu = find_gpu()
        check_clean()
    except CannotRecord as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    staging, recorded = Path("results", "recording", gpu), Path("data", "recorded", gpu)
    shutil.rmtree(fingerprint.ROOT / staging, ignore_errors=True)  # of an interrupted call
    try:
        for sweep in dict.fromkeys(wanted or SWEEPS):
            for words in commands(sweep, gpu, staging, again):
                subprocess.run(words, cwd=fingerprint.ROOT, check=True)
        subprocess.run([*CHECK, str(staging)], cwd=fingerprint.ROOT, check=True)
        replace(fingerprint.ROOT / staging, fingerprint.ROOT / recorded)
        subprocess.run([*CHECK, str(recorded)], cwd=fingerprint.ROOT, check=True)
    except subprocess.CalledProcessError as error:
        print(
            f"error: not recorded: {error.cmd[2]} ended with {error.returncode}. The measured rows "
            f"are kept: mend what its message names, and call `{again}` again",
            file=sys.stderr,
        )
        return error.returncode
    print(f"{recorded} is ready: git add it, commit, and open a pull request")
    return 0


def find_gpu() -> str:
    """Return the short name of the first GPU here. Raises CannotRecord without one."""
    visible = gpus.visible()
    if not visible:
        raise CannotRecord(
            "no GPU here that nvidia-smi shows; rows of a CPU are not recorded. Run it on the "
            "machine whose GPU is to be recorded"
        )
    if fault := missing_tool():
        raise CannotRecord(fault)
    return visible[0]


def check_clean() -> None:
    """Raise CannotRecord unless the checkout's commit has the code that will measure the rows."""
    command = ["git", "status", "--porcelain", "--", *fingerprint.CODE]
    done = subprocess.run(command, cwd=fingerprint.ROOT, capture_output=True, text=True)
    if done.returncode:
        raise CannotRecord(
            "this is no git checkout, so rows could not name their commit; clone the project"
        )
    if edited := done.stdout.splitlines():
        raise CannotRecord(
            f"files are not committed ({edited[0].strip()}, {len(edited)} in all), and rows must "
            "name their commit; commit the files, or `git stash --include-untracked`"
        )


def commands(sweep: str, gpu: str, staging: Path, again: str) -> list[list[str]]:
    """Return the commands that measure a sweep and that write its table to ``staging``.

    ``again``: the command that repeats both, for the table.
    """
    # Two points for each GPU of this kind: one is timed, one waits for its turn. Else the GPU would
    # wait after every point until Snakemake has begun the next.
    jobs = 2 * max(1, gpus.visible().count(gpu))
    file = "config.yaml" if sweep == DEFAULT else f"sweeps/{sweep}.yaml"
    measure = [sys.executable, "-m", "snakemake", "--cores", "all", "--until", "merge"]
    measure += ["--resources", f"gpu={jobs}", "--configfile", file, "--config", f"gpus=[{gpu}]"]
    keep = [sys.executable, "-m", "analysis", "record", "--cells", "results/cells"]
    keep += ["--rows", f"results/measurements/{gpu}.csv", "--output", str(staging)]
    return [measure, [*keep, "--command", again]]


def replace(staging: Path, recorded: Path) -> None:
    """Move the files of one folder into the other, over older files of the same names."""
    recorded.mkdir(parents=True, exist_ok=True)
    for path in sorted(staging.iterdir()):
        shutil.move(path, recorded / path.name)
    staging.rmdir()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
