"""What a fork server loads before its first point, and whether it can be forked then."""

from tests.processes import run_code

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


def test_what_a_server_has_loaded_can_be_forked_but_no_driver_and_no_thread(tmp_path, monkeypatch):
    (tmp_path / "nvidiactl").touch()
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")  # as Snakemake does
    loaded, driver, thread = run_code(SERVER, str(tmp_path / "nvidia")).splitlines()
    assert (loaded, "the driver is in use" in driver) == ("None", True)
    assert thread == "2 threads are running, and a fork has only one"
