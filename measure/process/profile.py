"""Profile one call of a point with Nsight Compute: ``python -m measure point … --profile FILE``.

ncu runs this module in a separate process, with the point as its argument. The process makes two
calls, which compile and load the kernel, and starts the profiler for a third. So the profile has
the kernels of one call, on buffers like those of a timed one, and none that draw inputs or tune.
ncu flushes the caches before each kernel, so the call is as cold as a timed one.
"""

import contextlib
import json
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from ..device import gpu_lock, gpus
from ..point import Point
from . import fork_client

TOOL = "ncu"
SUFFIX = ".ncu-rep"  # ncu appends it to names that lack it
OPTIONS = ("--profile-from-start=off", "--set=full", "--force-overwrite")
CALLS_BEFORE = 2  # unprofiled calls; the second no longer pays for first-use set-up


class ProfileError(RuntimeError):
    """Report why a point was not profiled."""


def require_profiler(point: Point, file: Path) -> None:
    """Raise ProfileError unless this machine can profile a point and write the file."""
    if point.is_cpu:
        raise ProfileError("--profile: Nsight Compute profiles kernels of a GPU, and this is a CPU")
    if shutil.which(TOOL) is None:
        raise ProfileError(
            f"--profile: no {TOOL} is on PATH; install Nsight Compute, which comes with the CUDA "
            "toolkit, or add its folder to PATH"
        )
    try:
        file = _named(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        existed = file.exists()
        file.open("ab").close()  # keeps an older profile until there is a new one
        if not existed:
            file.unlink()
    except (OSError, ValueError) as error:
        raise ProfileError(
            f"--profile: {file} cannot be written: {error}; choose another"
        ) from None


def _named(file: Path) -> Path:
    """Return the name under which ncu writes the profile."""
    return file if file.suffix == SUFFIX else file.with_name(file.name + SUFFIX)


def write_profile(point: Point, file: Path) -> Path:
    """Profile a call of a point, alone on its GPU; return the file. Raises ProfileError."""
    file = _named(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    gpu = gpu_lock.assigned_gpu(point, gpus.visible_gpus())
    with gpu_lock.acquire(gpu) if gpu else contextlib.nullcontext() as lock:
        environment = fork_client.environment_of(point, lock)
        done = subprocess.run(
            command(point, file),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
    if done.returncode or not file.exists():
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("==ERROR==")] or lines[-1:]
        why = " ".join(errors) or "it printed nothing"
        raise ProfileError(f"{TOOL} ended with {done.returncode} and made no profile: {why}")
    return file


def command(point: Point, file: Path) -> list[str]:
    """Return the command that profiles a call of a point."""
    target = [sys.executable, "-m", __name__, json.dumps(asdict(point))]
    return [TOOL, *OPTIONS, f"--export={file}", *target]


def call_once(point: Point) -> None:
    """Call the variant of a point until it is compiled, and once more for the profiler."""
    import torch

    import kernels

    from .. import inputs
    from ..device.opened import open_device

    torch.manual_seed(point.seed)
    device = open_device(point.gpu)
    call = kernels.load(point.variant).function(point.op)
    buffers = []
    for index in range(2):
        drawn = inputs.draw_at(point, device.torch_device, index)
        buffers.append((*drawn, inputs.empty_out(point.op, drawn)))
    for _ in range(CALLS_BEFORE):
        call(*buffers[1])
    if device.is_cpu:  # a test, without a profiler
        call(*buffers[0])
        return
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    call(*buffers[0])
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


if __name__ == "__main__":
    call_once(Point(**json.loads(sys.argv[1])))
