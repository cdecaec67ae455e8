"""What a fork server loads before its first point, and whether it can be forked then."""

import os
import subprocess
import sys

from measure import ROOT

SERVER = """
import sys, threading, time
from measure.process import fork_server

fork_server.load()
print(fork_server.why_not_forkable())
fork_server.DRIVER = sys.argv[1]
with open(sys.argv[1] + 'ctl'):
    print(fork_server.why_not_forkable())
threading.Thread(target=time.sleep, args=[600], daemon=True).start()
print(fork_server.why_not_forkable())
"""


def test_what_a_server_has_loaded_can_be_forked_but_no_driver_and_no_thread(tmp_path):
    """It has one thread, even if Snakemake sets OPENBLAS_NUM_THREADS=2."""
    (tmp_path / "nvidiactl").touch()
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, "-c", SERVER, str(tmp_path / "nvidia")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    loaded, driver, thread = done.stdout.splitlines()
    assert (loaded, "the driver is in use" in driver) == ("None", True), done.stderr
    assert thread == "2 threads are running, and a fork has only one"
