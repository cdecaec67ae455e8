"""Run Snakemake in forks of one process that has imported it: 2 s of imports once, not per run."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

_context = multiprocessing.get_context("forkserver")
# pytest, too: a child imports the main module of its parent
_context.set_forkserver_preload(["snakemake.cli", "pytest"])


def snakemake(*options: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess:
    """Run `snakemake OPTIONS` in `cwd`, as `subprocess.run` with captured output."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = [Path(folder, name) for name in ("stdout", "stderr")]
        child = _context.Process(target=_run, args=(options, cwd, env, outputs))
        child.start()
        child.join()
        stdout, stderr = (path.read_text() for path in outputs)
    return subprocess.CompletedProcess(options, child.exitcode, stdout, stderr)


def _run(options: Sequence[str], cwd: Path, env: dict[str, str], outputs: list[Path]) -> None:
    for descriptor, path in enumerate([Path(os.devnull), *outputs]):
        os.dup2(os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND), descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path[0] = str(cwd)  # as `python -m snakemake` has it
    sys.argv = ["snakemake", *options]
    import snakemake.cli

    snakemake.cli.main(options)
