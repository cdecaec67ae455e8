"""Run Snakemake in forks of one process that has imported it: 2 s of imports once, not per run.

``python forked.py`` answers one request a line; ``Snakemake`` starts it and asks.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


class Snakemake:
    """A process that has imported Snakemake and no project. It ends with the one that made it."""

    def __init__(self):
        # numpy's BLAS would start threads, and a process with threads is not safe to fork
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(
        self, *options: str, cwd: Path, env: dict[str, str]
    ) -> subprocess.CompletedProcess:
        """Run ``snakemake OPTIONS`` in ``cwd``, as ``subprocess.run`` with captured output."""
        with tempfile.TemporaryDirectory() as folder:
            request = {"options": options, "cwd": str(cwd), "env": env, "folder": folder}
            print(json.dumps(request), file=self._process.stdin, flush=True)
            code = int(self._process.stdout.readline())
            stdout, stderr = (Path(folder, name).read_text() for name in ("stdout", "stderr"))
        return subprocess.CompletedProcess(options, code, stdout, stderr)


def _serve() -> None:
    import snakemake.cli

    for line in sys.stdin:
        request = json.loads(line)
        if not (child := os.fork()):
            _become(request)
            snakemake.cli.main(request["options"])
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(request: dict) -> None:
    """Take over the request's folder, environment and output files."""
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(Path(request["folder"], name), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(file, descriptor)
        os.close(file)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.path[0] = request["cwd"]  # as `python -m snakemake` has it
    sys.argv = ["snakemake", *request["options"]]


if __name__ == "__main__":
    _serve()
