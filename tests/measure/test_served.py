"""Points forked from a process that has everything loaded: fast, alone, and nobody else's."""

import contextlib
import csv
import errno
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from measure import fingerprint
from measure.device import gpus
from measure.fingerprint import ROOT
from measure.point import Point
from measure.process import fork_client, fork_server, process_identity, protocol
from tests import copies, processes
from tests.marks import slow
from tests.measure import nvml
from tests.processes import PATIENCE_S, until

ASLEEP = "open('asleep', 'w')\ntime.sleep(600)"
# one process in the worker's session, one in a session of its own
STARTS = """import subprocess
for session in (False, True):
    subprocess.Popen(['sleep', '600'], start_new_session=session)
open('started', 'w')
time.sleep(600)"""
# At the head of a server: it does what ACT says.
IN_A_SERVER = """if 'measure.process.fork_server' in open('/proc/self/cmdline').read():
    ACT
"""


class Sweep:
    """A copy of the project, a process that points are served for, a folder for its servers."""

    def __init__(self, project: Path, runtime: Path):
        self.project, self.runtime = project, runtime
        self.folder = runtime / f"softmax-bench-{os.getuid()}"
        self.owner = subprocess.Popen(["sleep", "600"])

    def add(self, name: str, body: str) -> None:
        """Add a kernel that does what ``body`` says."""
        lines = body.replace("\n", "\n    ")
        source = f"import os, sys, time, torch\ndef softmax(x, out=None):\n    {lines}\n"
        (self.project / "kernels/contributed" / f"{name}.py").write_text(source)

    def begin(self, variant: str = "torch_softmax", **options) -> subprocess.Popen:
        """Start ``python -m measure point``."""
        hidden = ("TRITON_INTERPRET", "PYTEST_CURRENT_TEST")  # a server is known by the others
        environment = {k: v for k, v in os.environ.items() if k not in hidden}
        environment |= {"XDG_RUNTIME_DIR": str(self.runtime), "CUDA_VISIBLE_DEVICES": ""}
        environment |= options.pop("environment", {})
        given = {"gpu": "cpu", "M": 8, "N": 32, "time-budget": 0.05, "output": "row.csv"}
        given |= {"variant": variant, "served-for": self.owner.pid} | options
        words = [w for k, v in given.items() if v is not None for w in (f"--{k}", str(v))]
        return subprocess.Popen(
            [sys.executable, "-m", "measure", "point", *words],
            cwd=self.project,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def attempt(self, *variant: str, **options) -> tuple[dict | None, str]:
        """Return the row of a point, None where there is none, and what went to stderr."""
        row = self.project / "row.csv"
        row.unlink(missing_ok=True)
        point = self.begin(*variant, **options)
        _, said = point.communicate(timeout=PATIENCE_S)
        assert row.exists() == (point.returncode == 0), said
        return (read(row) if row.exists() else None), said

    def measure(self, *variant: str, **options) -> dict:
        """Return the row of a point that a server has measured."""
        row, said = self.attempt(*variant, **options)
        assert row is not None, said
        assert "fresh Python" not in said
        return row

    def servers(self) -> list[psutil.Process]:
        return processes.roots(
            processes.by_command("measure.process.fork_server", str(self.folder))
        )

    def server(self) -> psutil.Process:
        (found,) = self.servers()
        return found

    def socket(self) -> Path:
        (path,) = self.folder.glob("*.socket")
        return path

    def running(self, word: str = "") -> list[psutil.Process]:
        """Return what has been started for its points, and runs; with this word in the command."""
        here = processes.by_variable("XDG_RUNTIME_DIR", self.runtime)
        return [p for p in here if word in " ".join(processes.ask(p.cmdline, []))]

    def end_owner(self) -> None:
        self.owner.kill()
        self.owner.wait()


@contextlib.contextmanager
def made(project: Path):
    """A sweep; all that it has started has ended afterwards."""
    with tempfile.TemporaryDirectory(prefix="run-") as runtime:  # short: part of a socket's name
        sweep = Sweep(project, Path(runtime))
        try:
            yield sweep
        finally:
            sweep.end_owner()
            until(lambda: not sweep.running())


@pytest.fixture
def sweep(project):
    """For tests that end its server or its owner, or that need a server of another kind."""
    with made(project) as found:
        yield found


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """With a server that has everything loaded, for tests that leave it as it is."""
    with made(copies.copy_project(tmp_path_factory.mktemp("served") / "project")) as found:
        found.measure()
        yield found


def read(path: Path) -> dict:
    with path.open(newline="") as file:
        (row,) = csv.DictReader(file)
    return row


def test_one_server_measures_all_points_of_a_sweep(shared):
    fork_server = shared.server()
    first, second = shared.measure(), shared.measure("torch_naive", M=16)
    assert (first["status"], second["status"]) == ("ok", "ok")
    assert (second["variant"], second["M"]) == ("torch_naive", "16")
    assert shared.server() == fork_server


def test_a_worker_is_a_fork_that_has_all_modules_and_its_job_s_environment(shared):
    names = [
        name for name in fork_server.LOADED if name != "measure.device.telemetry"
    ]  # needs NVML
    shared.add(
        "tells",
        f"missing = [name for name in {names!r} if name not in sys.modules]\n"
        "of = 'measure.process.fork_server' in open('/proc/self/cmdline').read()\n"
        "raise RuntimeError(f\"{of} {os.environ['TMPDIR']} {os.getcwd()} {missing}\")",
    )
    row = shared.measure("tells", environment={"TMPDIR": str(shared.project)})
    assert row["message"] == f"RuntimeError: True {shared.project} {shared.project} []"


def test_an_edited_kernel_is_read_anew(shared):
    shared.add("mine", "return torch.softmax(x, dim=-1, out=out)")
    before = shared.measure("mine")
    shared.add("mine", "return x")
    after = shared.measure("mine")
    assert (before["status"], after["status"]) == ("ok", "incorrect")


def test_a_kernel_that_kills_its_keeper_ends_its_point_alone(shared):
    shared.add("kills", "os.kill(os.getppid(), 9)\ntime.sleep(600)")
    row = shared.measure("kills")
    assert row["status"] == "crash"
    assert "(signal SIGKILL) in stage: gate" in row["message"]
    assert shared.measure()["status"] == "ok"


# Slow: a fresh Python waits for and kills its worker by the same two functions.
@pytest.mark.parametrize("owned", [True, slow(False)], ids=["served", "fresh"])
def test_a_point_whose_time_is_up_is_killed_with_all_that_it_started(shared, owned):
    started = shared.project / "started"
    started.unlink(missing_ok=True)
    shared.add("starts", STARTS)
    options = {} if owned else {"served-for": None}
    # the first limit within which this machine gets as far as the kernel's sleep
    for limit in (3, 10, 30, 100):
        row, said = shared.attempt("starts", timeout=limit, **options)
        assert shared.running("sleep") == []
        if started.exists():
            break
    assert row, said
    assert row["status"] == "timeout"
    assert row["message"].startswith(f"killed after {limit} s, in stage: gate")
    until(lambda: shared.running() == [shared.server()])


def test_a_killed_job_takes_its_point_along(shared):
    shared.add("sleeps", ASLEEP)
    point = shared.begin("sleeps", output="killed.csv")
    until((shared.project / "asleep").exists)
    point.kill()
    point.communicate(timeout=PATIENCE_S)
    until(lambda: shared.running() == [shared.server()])
    assert not (shared.project / "killed.csv").exists()


def test_a_client_that_says_nothing_delays_nobody(shared):
    def is_still_waited_for() -> bool:
        """Whether the silent one has its time to send a request after a point is measured."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
            silent.connect(str(shared.socket()))
            assert shared.measure()["status"] == "ok"
            silent.setblocking(False)
            try:
                return silent.recv(1) != b""
            except BlockingIOError:
                return True

    # a point may take longer than that time, on a busy machine; where it waits, it always does
    assert any(is_still_waited_for() for _ in range(5))


def test_nonsense_is_refused_and_the_server_goes_on(shared):
    for said in (b"\xff\xff\xff\xff", b"\x00\x00\x00\x02{]", b""):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(shared.socket()))
            connection.sendall(said)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(4) == b""
    assert shared.measure()["status"] == "ok"


# What a point sends, by hand: the stranger cannot read the project.
ASKS = """
import json, socket, struct, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
request = {"folder": sys.argv[2], "directory": "/", "environment": {"PATH": "/bin"}}
text = json.dumps(request).encode()
socket.send_fds(connection, [struct.pack("!I", len(text))], [2])
connection.sendall(text)
print(connection.recv(4))
"""


@pytest.mark.parametrize("stranger", [False, True])
@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")
def test_another_user_s_request_is_refused(shared, stranger):
    path, folder = shared.socket(), Path(tempfile.mkdtemp(dir=shared.runtime))
    log, before = path.with_suffix(".log"), path.with_suffix(".log").read_text()
    point = Point(gpu="cpu", dtype="float32", M=4, N=8, variant="torch_softmax", time_budget_s=0.05)
    (folder / "point.json").write_text(json.dumps(point.as_dict()))
    for open_to_all in (path, path.parent, shared.runtime, folder):
        open_to_all.chmod(0o1777)
    who = ["setpriv", "--reuid=65534", "--clear-groups"] if stranger else []
    command = [*who, "python3", "-c", ASKS, str(path), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
    path.parent.chmod(0o700)  # or no other point would use it
    assert (folder / "done.json").exists() != stranger, done.stderr
    assert (folder / "progress.json").exists() != stranger
    assert ("refused: another user" in log.read_text().removeprefix(before)) == stranger


def test_a_server_of_another_user_is_not_asked(shared, monkeypatch):
    fork_client._open(shared.socket()).close()
    monkeypatch.setattr(protocol, "peer_uid", lambda connection: os.getuid() + 1)
    with pytest.raises(fork_client.NoServer, match="belongs to another user"):
        fork_client._open(shared.socket())


def test_points_in_flight_do_not_notice_the_end_of_their_server_and_the_next_starts_one(shared):
    shared.add("waits", "open(f'waits-{os.getpid()}', 'w')\nwhile not os.path.exists('go'):\n"
               "    time.sleep(0.01)\nreturn torch.softmax(x, dim=-1, out=out)")  # fmt: skip
    points = [shared.begin("waits", output=f"{number}.csv") for number in range(2)]
    until(lambda: len(list(shared.project.glob("waits-*"))) == 2)
    killed = shared.server()
    killed.kill()
    (shared.project / "go").touch()
    for number, point in enumerate(points):
        _, said = point.communicate(timeout=PATIENCE_S)
        assert point.returncode == 0, said
        assert read(shared.project / f"{number}.csv")["status"] == "ok"
    assert shared.measure()["status"] == "ok"
    assert shared.server() != killed


def test_without_a_server_that_starts_the_same_row_comes_from_a_fresh_python(shared, sweep):
    (sweep.project / "sitecustomize.py").write_text(
        IN_A_SERVER.replace("ACT", "raise SystemExit('not today')")
    )
    fresh, said = sweep.attempt()
    assert "measuring in a fresh Python: the server did not start" in said
    forked = shared.measure()
    assert {k for k, v in forked.items() if v} == {k for k, v in fresh.items() if v}
    same = ("gpu_name", "torch", "measure_sha256", "kernel_sha256", "max_abs_error", "timing")
    assert [forked[k] for k in same] == [fresh[k] for k in same]


def test_a_server_and_its_points_end_with_their_owner_and_leave_no_row(sweep):
    sweep.add("sleeps", ASLEEP)
    point = sweep.begin("sleeps")
    until((sweep.project / "asleep").exists)
    sweep.end_owner()
    _, said = point.communicate(timeout=PATIENCE_S)
    assert point.returncode == 2
    assert "for which this point was measured, has ended" in said
    until(lambda: not sweep.running())
    assert [path.name for path in sweep.folder.iterdir()] == [fork_client.LOCK]
    assert not (sweep.project / "row.csv").exists()


def test_nothing_is_measured_for_an_owner_that_is_not_there(sweep):
    sweep.end_owner()
    row, said = sweep.attempt()
    assert row is None
    assert f"process {sweep.owner.pid}, for which this point was measured, has ended" in said
    assert sweep.running() == []


THREAD = """import threading, time
threading.Thread(target=time.sleep, args=[600], daemon=True).start()
"""
LOADS = """
import sys
from measure.process import fork_server as server

for module in ("asks", "threads"):
    server.load([module], "9.0")
    print(module in sys.modules)
import torch
print(*sys.modules["asks"].said, torch.cuda.is_available.__module__)
"""


def test_what_a_server_loads(tmp_path):
    """A module that asks for the GPU, as QuACK does, is answered; one with a thread is left out.

    So it is where Snakemake says, by OPENBLAS_NUM_THREADS, that the job has several threads.
    """
    asks = "import torch\nsaid = torch.cuda.is_available(), torch.cuda.get_device_capability()\n"
    (tmp_path / "asks.py").write_text(asks)
    (tmp_path / "threads.py").write_text(THREAD)
    path = f"{ROOT}{os.pathsep}{tmp_path}"
    environment = os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, "-c", LOADS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout == "True\nFalse\nTrue (9, 0) torch.cuda\n", done.stderr


def test_a_server_is_told_what_the_rival_imports_and_which_gpu_it_asks_for(sweep, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(sweep.runtime))
    monkeypatch.setattr(fork_client, "_start", lambda path, environment, words: words)
    monkeypatch.setattr(gpus, "capability", lambda: "9.0")
    assert fork_client._connect({}, os.getpid(), None)[2:] == [""]
    capability, *modules = fork_client._connect({}, os.getpid(), "peer_quack")[2:]
    assert (capability, "quack.softmax" in modules) == ("9.0", True)


# Slow: the two tests above have the parts.
@pytest.mark.slow
@pytest.mark.parametrize("fit", [True, False], ids=["fit to be forked", "with a thread"])
def test_what_the_rival_imports_is_loaded_once_if_a_fork_stands_it(sweep, tmp_path, fit):
    """In a child that tries, and in the server; or else in that child and in each worker."""
    told = tmp_path / "told"
    source = f"open({str(told)!r}, 'a').write('x')\n"
    (tmp_path / "heavy.py").write_text(source + ("" if fit else THREAD))
    sweep.add("other", "import heavy\nreturn torch.softmax(x, -1, out=out)")
    for _ in range(2):
        row = sweep.measure(rival="other", environment={"PYTHONPATH": str(tmp_path)})
        assert (row["status"], row["rival"]) == ("ok", "other"), row["message"]
    assert told.read_text() == ("xx" if fit else "xxx")


CHECKS = """
import sys
from measure.process import fork_server as server
server.DRIVER = sys.argv[1]
server.check_can_fork()
ACT
server.check_can_fork()
"""


@pytest.mark.parametrize(
    ("act", "why"),
    [
        ("file = open(sys.argv[1] + 'ctl')", "the driver is in use"),
        ("pass", ""),
    ],
    ids=["the driver is open", "fit"],
)
def test_a_process_that_cannot_be_forked_is_no_server(tmp_path, act, why):
    (tmp_path / "nvidiactl").touch()
    command = [sys.executable, "-c", CHECKS.replace("ACT", act), str(tmp_path / "nvidia")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, why in done.stderr) == (bool(why), True), done.stderr


DONE = """
import json
def main(folder, parent):
    row = {"gpu": "h200", "gpu_name": "h200", "status": "crash"}
    (folder / "done.json").write_text(json.dumps({"row": row, "samples": []}))
"""
SEES = """
_keep = keep
def keep(connection, spawn, pidfd=None, heard=None):
    print("answered before the end:", heard is not None, file=sys.stderr, flush=True)
    _keep(connection, spawn, pidfd, heard)
"""


def test_only_a_point_that_holds_a_gpu_is_answered_before_its_worker_has_ended(sweep, tmp_path):
    (tmp_path / "pynvml.py").write_text(nvml.FAKE)
    (sweep.project / "measure/process/worker.py").write_text(DONE)
    with (sweep.project / "measure/process/reaper.py").open("a") as file:
        file.write(SEES)
    slots = sweep.project / "measure/device/gpu_lock.py"
    slots.write_text(slots.read_text().replace('Path("/tmp")', f"Path({str(tmp_path)!r})"))
    environment = {"PYTHONPATH": str(tmp_path), "CUDA_VISIBLE_DEVICES": "0"}
    for gpu in ("h200", "cpu"):
        assert sweep.measure(gpu=gpu, environment=environment)["status"] == "crash"
    said = sweep.socket().with_suffix(".log").read_text()
    words = "answered before the end: "
    assert [line.removeprefix(words) for line in said.splitlines() if words in line] == [
        *("True", "False")
    ]
    until(lambda: sweep.running() == [sweep.server()])


def test_a_name_depends_on_who_may_be_served(monkeypatch):
    environment = {"PATH": "/bin", "CUDA_VISIBLE_DEVICES": "0"}
    name = fork_client._name(environment, 1, "2")
    assert name == fork_client._name(environment | {"CUDA_VISIBLE_DEVICES": "1"}, 1, "2")
    others = [
        fork_client._name(environment, 1, "3"),
        fork_client._name(environment, 2, "2"),
        fork_client._name(environment | {"TRITON_INTERPRET": "1"}, 1, "2"),
    ]
    monkeypatch.setattr(fingerprint, "measure_sha256", lambda: "edited")
    others.append(fork_client._name(environment, 1, "2"))
    assert len({name, *others}) == 5


# others may rename the folder; they may enter it; XDG_RUNTIME_DIR outlives its folder, after su say
@pytest.mark.parametrize(
    ("base_mode", "mode", "safe"),
    [
        (0o755, 0o700, True),
        (0o1777, 0o700, True),
        (0o777, 0o700, False),
        (0o755, 0o755, False),
        (None, None, False),
    ],
)
def test_a_folder_that_others_may_enter_or_swap_is_not_used(monkeypatch, base_mode, mode, safe):
    with tempfile.TemporaryDirectory(prefix="run-") as name:
        base = Path(name, "base")
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(base))
        if base_mode:
            folder = base / f"softmax-bench-{os.getuid()}"
            folder.mkdir(parents=True)
            folder.chmod(mode)
            base.chmod(base_mode)
        assert (fork_client.private_folder().parent == base) == safe


@pytest.mark.parametrize("by", ["a system call", "looking"])
def test_the_end_of_a_process_is_noticed_without_pidfd_open(monkeypatch, by):
    monkeypatch.delattr(os, "pidfd_open")
    if by == "looking":

        def forbidden(pid):
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

        monkeypatch.setattr(process_identity, "_pidfd", forbidden)
    process = subprocess.Popen(["sleep", "600"])
    end = process_identity.open_pidfd(process.pid)
    assert select.select([end], [], [], 0.2)[0] == []
    process.kill()
    assert select.select([end], [], [], PATIENCE_S)[0] == [end]
    process.wait()
    with pytest.raises(ProcessLookupError):
        process_identity.open_pidfd(process.pid)
    os.close(end)


# Slow: the test above has both ways to notice.
@pytest.mark.slow
def test_a_point_is_served_where_there_is_no_pidfd_open(sweep):
    (sweep.project / "sitecustomize.py").write_text(
        IN_A_SERVER.replace(
            "ACT",
            "from measure.process import process_identity as owner\n"
            "    def forbidden(pid): raise OSError(38, 'not here')\n"
            "    owner._pidfd = forbidden",
        )
    )
    for _ in range(2):
        assert sweep.measure()["status"] == "ok"
    sweep.end_owner()
    until(lambda: not sweep.running())


def test_a_process_is_known_by_number_and_start():
    since = process_identity.started(os.getpid())
    assert process_identity.is_alive(os.getpid(), since)
    assert not process_identity.is_alive(os.getpid(), str(int(since) + 1))
    ended = subprocess.Popen(["true"])
    until(lambda: not processes.is_alive(psutil.Process(ended.pid)))
    assert process_identity.started(ended.pid) is None, "ended, though nobody has waited for it"
    ended.wait()
    assert process_identity.started(ended.pid) is None
