"""`make record`: measure the standard sweeps on the GPU that is here, and record them.

`make record SWEEPS="fused_softmax frontier"` records only these and keeps the others. An
interrupted call goes on where it stopped.
"""

import subprocess
import sys
from collections.abc import Sequence

from analysis import InputError, recorded
from kernels.terminal import replace_missing_characters
from measure import ROOT, provenance
from measure.device import gpus
from measure.point import nearest
from planning.machine import missing_tool

# File of sweeps/, whose rows are one table -> replicates. Three measure the spread between
# processes. The spread of the random shapes, which are many, is estimated from the controls.
SWEEPS = {
    "online_softmax": 3,
    "fused_softmax": 3,
    "steps": 1,
    "oneflow": 3,
    "log_softmax": 3,
    "softmax_backward": 3,
    "log_softmax_backward": 3,
    "frontier": 3,
    "peers": 3,
    "workloads": 3,
    "workloads_log_softmax": 3,
    "workloads_log_softmax_backward": 3,
    "workloads_logits": 3,
    "random": 1,
    "random_logits": 1,
}


def main(sweeps: Sequence[str]) -> int:
    """Record these sweeps, or all; return the exit code, after one line that says what is wrong."""
    if fault := fault_of(sweeps):
        print(f"error: {fault}", file=sys.stderr)
        return 2
    again = f'make record SWEEPS="{" ".join(sweeps)}"' if sweeps else "make record"
    gpu = gpus.visible_slugs()[0]
    folder = ROOT / "data/recorded" / gpu
    try:
        for sweep in sweeps or SWEEPS:
            done = subprocess.run([sys.executable, "-m", *command(sweep, gpu)], cwd=ROOT)
            if done.returncode:
                raise InputError(f"snakemake ended with {done.returncode}")
            merged = ROOT / f"results/measurements/{gpu}.csv"
            recorded.record(merged, ROOT / "results/rows", folder, again)
        print(recorded.check_folders([folder]))
    except InputError as error:
        print(
            f"error: not recorded: {error}. The measured rows are kept: correct what its "
            f"message names, and call `{again}` again",
            file=sys.stderr,
        )
        return 1
    print(f"data/recorded/{gpu} is ready: git add it, commit, and open a pull request")
    return 0


def fault_of(sweeps: Sequence[str]) -> str | None:
    """Return None, or why these sweeps cannot be recorded here, and what to do."""
    for sweep in sweeps:
        if sweep not in SWEEPS:
            return f"{sweep!r} is not one of the standard sweeps{nearest(sweep, SWEEPS)}"
    if not gpus.visible_slugs():
        return (
            "no GPU here that NVML shows; rows of a CPU are not recorded. Run it on the "
            "machine whose GPU is to be recorded"
        )
    if fault := missing_tool():
        return fault
    try:
        status = provenance.git("status", "--porcelain", "--", *provenance.GIT_PATHS)
    except (OSError, subprocess.SubprocessError):
        return "this is no git checkout, so rows could not name their commit; clone the project"
    if edited := status.splitlines():
        return (
            f"files are not committed ({edited[0].strip()}, {len(edited)} in all), and rows must "
            "name their commit; commit the files, or `git stash --include-untracked`"
        )
    return None


def command(sweep: str, gpu: str) -> list[str]:
    """Return the command, after `python -m`, that measures a sweep and merges its rows."""
    # Two points for each GPU of this kind: one is timed, one waits for its turn. Else the GPU would
    # wait after every point until Snakemake has begun the next.
    jobs = 2 * max(1, gpus.visible_slugs().count(gpu))
    words = ["snakemake", "--cores", "all", "--until", "merge", "--resources", f"gpu={jobs}"]
    words += ["--configfile", f"sweeps/{sweep}.yaml"]
    return [*words, "--config", f"gpus=[{gpu}]", f"replicates={SWEEPS[sweep]}"]


if __name__ == "__main__":
    replace_missing_characters()
    sys.exit(main(sys.argv[1:]))
