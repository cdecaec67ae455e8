"""What a fork server loads before its first point, and whether it can be forked then."""

import os
import subprocess
import sys

from measure.fingerprint import ROOT

THREAD = (
    "import threading, time\nthreading.Thread(target=time.sleep, args=[600], daemon=True).start()\n"
)
LOADS = """
from measure.process import fork_server

fork_server.load()
print(fork_server.why_not_forkable())
import threads
print(fork_server.why_not_forkable())
"""
OPENS = """
import sys
from measure.process import fork_server
fork_server.DRIVER = sys.argv[1]
print(fork_server.why_not_forkable())
file = open(sys.argv[1] + 'ctl')
print(fork_server.why_not_forkable())
"""


def test_what_a_server_loads(tmp_path):
    """It has one thread, even if Snakemake sets OPENBLAS_NUM_THREADS=2; another is noticed."""
    (tmp_path / "threads.py").write_text(THREAD)
    path = f"{ROOT}{os.pathsep}{tmp_path}"
    environment = os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, "-c", LOADS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    threads = "2 threads are running, and a fork has only one"
    assert done.stdout == f"None\n{threads}\n", done.stderr


def test_a_process_that_has_the_driver_open_is_not_forked(tmp_path):
    (tmp_path / "nvidiactl").touch()
    command = [sys.executable, "-c", OPENS, str(tmp_path / "nvidia")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    before, after = done.stdout.splitlines()
    assert (before, "the driver is in use" in after) == ("None", True), done.stderr
