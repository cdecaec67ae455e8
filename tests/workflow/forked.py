"""Run Snakemake in forks of one process that has imported it: 2 s of imports once, not per run."""

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

_context = multiprocessing.get_context("forkserver")
# pytest, too: a child imports the main module of its parent
_context.set_forkserver_preload(["snakemake.cli", "pytest"])


def snakemake(*options: str, cwd: Path, env: dict[str, str], fails: bool = False) -> str:
    """Run `snakemake OPTIONS` in `cwd`; return what it prints, after checking that it `fails`."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as output:
        child = _context.Process(target=_run, args=(options, cwd, env, output.name))
        child.start()
        child.join()
        printed = output.read()
    assert bool(child.exitcode) == fails, printed
    assert not fails or "Traceback (most recent" not in printed
    return printed


def _run(options: Sequence[str], cwd: Path, env: dict[str, str], output: str) -> None:
    for descriptor, path in enumerate([os.devnull, output, output]):
        os.dup2(os.open(path, os.O_RDWR | os.O_APPEND), descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path[0] = str(cwd)  # `python -m snakemake` has it, too
    sys.argv = ["snakemake", *options]
    import snakemake.cli

    snakemake.cli.main(options)
