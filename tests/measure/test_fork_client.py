"""Points forked from a process that has everything loaded: fast, alone, and nobody else's."""

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from measure.process import fork_client, fork_server, reaper
from tests import processes
from tests.bench import Bench, kernel, read_row
from tests.processes import PATIENCE_S, until

SOCKET = socket.AF_UNIX, socket.SOCK_SEQPACKET
# Starts a process in the worker's session and one in a new session, which only SIGKILL ends.
STARTS = """import subprocess
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
for session in (False, True):
    # the pipes of the log are not held open
    subprocess.Popen('exec sleep 600 > log 2>&1', shell=True, start_new_session=session)
"""
# And stops itself.
STOPS = f"""{STARTS}
open('started', 'w')
os.kill(os.getpid(), signal.SIGSTOP)"""
# The worker's parent and grandparent: the reaper and the fork server.
KILLS_WHO_WATCHES = """import psutil
for process in reversed(psutil.Process().parents()[:2]): process.kill()
time.sleep(600)"""


class Sweep(Bench):
    """A copy of the project, and a process that points are served for."""

    def __init__(self, folder: Path):
        super().__init__(folder / "project")
        self.mark = str(folder)  # all that it starts has it in the environment
        self.process = subprocess.Popen(["sleep", "600"])
        self.owner = self.process.pid

    def server(self) -> psutil.Process:
        """Return the server of the owner; that of a job without one is about to end."""

        def only() -> psutil.Process | None:
            named = self.running("measure.process.fork_server")
            pids = {process.pid for process in named}
            # a process that a server forks has the server's command
            first = [process for process in named if process.info["ppid"] not in pids]
            return first[0] if len(first) == 1 else None

        return until(only)

    def running(self, word: str = "") -> list[psutil.Process]:
        """Return what was started for its points and runs, with this word in the command."""
        started = processes.by_variable("XDG_RUNTIME_DIR", self.mark)
        return [process for process in started if word in " ".join(process.info["cmdline"])]

    def end_owner(self) -> None:
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def server_in(folder: Path):
    """A sweep; all that it has started has ended afterwards."""
    sweep = Sweep(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", sweep.mark)
        patch.setenv("OPENBLAS_NUM_THREADS", "2")  # Snakemake does so; no fork has two threads
        try:
            yield sweep
        finally:
            sweep.end_owner()
            until(lambda: not sweep.running())


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """With a server that has everything loaded, for tests that leave its owner alive."""
    with server_in(tmp_path_factory.mktemp("served")) as client:
        client.row("torch_softmax")
        yield client


def ended(point: subprocess.Popen) -> tuple[int, str]:
    """Return the exit code of a point, and its log."""
    _, log = point.communicate(timeout=PATIENCE_S)
    return point.returncode, log


def test_a_worker_is_a_fork_that_has_all_modules_and_its_job_s_environment(shared, monkeypatch):
    """And what it started has ended when its row is there."""
    names = [name for name in fork_server.PRELOADED if name != "measure.device.telemetry"]  # NVML
    act = f"""{STARTS}
missing = [name for name in {names!r} if name not in sys.modules]
of = 'measure.process.fork_server' in open('/proc/self/cmdline').read()
raise RuntimeError(f"{{of}} {{os.environ['TMPDIR']}} {{os.getcwd()}} {{missing}}")"""
    shared.add("tells", kernel(act))
    monkeypatch.setenv("TMPDIR", str(shared.project))
    message = shared.row("tells")["message"]
    assert message.endswith(f"RuntimeError: True {shared.project} {shared.project} []")
    assert shared.running("sleep") == []


def test_a_process_that_has_opened_the_driver_cannot_be_forked(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)  # it may have a context
    monkeypatch.setattr(fork_server, "DEVICE_FILE_PREFIX", str(tmp_path / "nvidia"))
    with (tmp_path / "nvidiactl").open("w", encoding="utf-8"):
        assert "the driver is in use" in fork_server.why_not_forkable()


def test_a_point_whose_time_is_up_is_killed_with_all_that_it_started(shared):
    started = shared.project / "started"
    started.unlink(missing_ok=True)
    shared.add("stops", kernel(STOPS))
    # the first limit within which this machine gets as far as the kernel's stop
    for limit in (3, 10, 30, 100):
        row, done = shared.run("stops", timeout=limit)
        assert shared.running("sleep") == []
        if started.exists():
            break
    assert row, done.stderr
    assert row["status"] == "timeout"
    assert row["message"].startswith(f"killed after {limit} s, in stage: ")
    until(lambda: shared.running() == [shared.server()])


def test_clients_that_say_nothing_or_nonsense_harm_nobody(shared):
    names = {connection.laddr for connection in shared.server().net_connections("unix")}
    (name,) = (name for name in names if name.startswith("@softmax-bench-"))
    with socket.socket(*SOCKET) as silent, socket.socket(*SOCKET) as second:
        for client in (silent, second):
            client.connect("\0" + name[1:])
        second.send(b"nonsense")
        assert second.recv(64) == b""
        assert shared.row("torch_softmax")["status"] == "ok"


def test_another_user_s_request_is_refused_and_its_server_is_not_asked(monkeypatch):
    address, (end, owner) = f"\0softmax-bench-test-{os.getpid()}", os.pipe()

    def of_another_user(connection):
        os.close(owner)  # upon which the server ends
        return os.getuid() + 1

    monkeypatch.setattr(reaper, "peer_uid", of_another_user)
    monkeypatch.setattr(os, "fork", pytest.fail)
    monkeypatch.setattr(fork_server.signal, "signal", lambda *_: None)
    with socket.socket(*SOCKET) as listener, socket.socket(*SOCKET) as client:
        listener.bind(address)
        listener.listen()
        client.connect(address)
        fork_server.serve(listener, end)
        assert client.recv(64) == b""
        monkeypatch.setattr(reaper, "peer_uid", lambda connection: os.getuid() + 1)
        monkeypatch.setattr(fork_client, "socket_name", lambda *_: address)
        with pytest.raises(ConnectionError, match="another user"):
            fork_client._connect({}, 1, 0)
    os.close(end)


def test_points_in_flight_do_not_notice_the_end_of_their_server_and_the_next_starts_one(shared):
    act = "open(f'waits-{os.getpid()}', 'w')\nwhile not os.path.exists('go'): time.sleep(0.01)"
    shared.add("waits", kernel(act))
    points = [shared.begin("waits", output=f"{number}.csv") for number in range(2)]
    until(lambda: len(list(shared.project.glob("waits-*"))) == 2)
    killed = shared.server()
    killed.kill()
    (shared.project / "go").touch()
    for number, point in enumerate(points):
        code, log = ended(point)
        assert code == 0, log
        assert read_row(shared.project / f"{number}.csv")["status"] == "ok"
    # at once, and start one server
    for point in [shared.begin("torch_softmax", output=f"{number}.csv") for number in range(3)]:
        code, log = ended(point)
        assert code == 0, log
    assert shared.server() != killed


def test_a_worker_dies_when_its_reaper_and_the_server_are_killed_at_once(shared):
    shared.add("kills", kernel(KILLS_WHO_WATCHES))
    assert shared.row("kills")["status"] == "crash"
    until(lambda: not shared.running())


def test_without_a_server_that_can_be_forked_with_torch_the_row_is_the_same(
    shared, tmp_path, monkeypatch
):
    # never cold, so that both rows have a flag, whatever noise adds
    size = {"M": 8, "N": 32}
    forked = shared.row("torch_softmax", **size)
    thread = "threading.Thread(target=time.sleep, args=[600], daemon=True).start()"
    (tmp_path / "pynvml.py").write_text(f"import threading, time\n{thread}", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    fresh, done = shared.run("torch_softmax", served=False, **size)
    assert "loading nothing, as 2 threads" in done.stderr
    assert {k for k, v in forked.items() if v} == {k for k, v in fresh.items() if v}
    equal = ("gpu_name", "torch", "measure_sha256", "kernel_sha256", "max_abs_error", "timing")
    assert [forked[k] for k in equal] == [fresh[k] for k in equal]


def test_a_server_and_its_points_end_with_their_owner_and_leave_no_row(tmp_path):
    with server_in(tmp_path) as sweep:
        sweep.add("sleeps", kernel("open('asleep', 'w')\ntime.sleep(600)"))
        point = sweep.begin("sleeps")
        until((sweep.project / "asleep").exists)
        sweep.end_owner()
        code, log = ended(point)
        assert (code, "(--served-for) has ended" in log) == (2, True), log
        until(lambda: not sweep.running())
        assert not (sweep.project / "row.csv").exists()
        row, done = sweep.run("torch_softmax")  # its owner is not there
        assert (row, "(--served-for) has ended" in done.stderr) == (None, True)
        assert sweep.running() == []


def test_a_job_is_cancelled_even_if_its_reaper_has_ended(monkeypatch):
    def cancelled(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(fork_client.select, "select", cancelled)
    # shutdown: not connected
    with socket.socket(*SOCKET) as connection, pytest.raises(KeyboardInterrupt):
        fork_client._answer(connection, 0, 1.0)


def test_a_server_is_known_by_owner_code_and_environment(monkeypatch, project):
    monkeypatch.setattr(fork_client, "ROOT", project)
    environment = {"PATH": "/bin", "CUDA_VISIBLE_DEVICES": "0"}
    name = fork_client.socket_name(environment, 1)
    assert name == fork_client.socket_name(environment | {"CUDA_VISIBLE_DEVICES": "1"}, 1)
    (project / "kernels/frontier/frontier.py").touch()  # imported by each worker
    assert name == fork_client.socket_name(environment, 1)
    names = [name, fork_client.socket_name(environment, 2)]
    names.append(fork_client.socket_name(environment | {"TRITON_INTERPRET": "1"}, 1))
    for edited in ("measure/check/tolerance.py", "measure/row.csv", "kernels/registry/discover.py"):
        (project / edited).touch()
        names.append(fork_client.socket_name(environment, 1))
    assert len({*names}) == len(names)
