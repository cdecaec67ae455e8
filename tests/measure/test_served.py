"""Points forked from a process that has everything loaded: fast, alone, and nobody else's."""

import contextlib
import csv
import errno
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from measure import owner, served, server, wire
from measure.fingerprint import ROOT
from measure.point import Point

ASLEEP = "open('asleep', 'w')\ntime.sleep(600)"
# one process in the worker's session, one in a session of its own
STARTS = """import subprocess
for session in (False, True):
    child = subprocess.Popen(['sleep', '600'], start_new_session=session)
    open('pids', 'a').write(f'{child.pid} ')
time.sleep(600)"""
PATIENCE_S = 150  # for what must happen soon; a slow machine takes its time to load torch


@pytest.fixture
def sweep():
    """A process for points to be served for, with a folder of its own for its server."""
    process = subprocess.Popen(["sleep", "600"])
    with tempfile.TemporaryDirectory(prefix="run-") as folder:  # short: it is part of a socket's
        yield process, Path(folder) / f"softmax-bench-{os.getuid()}"
        process.kill()
        process.wait()
        until(lambda: servers((process, Path(folder))) == [])


def begin(project, sweep, variant="torch_softmax", **options):
    """``python -m measure point``, started."""
    process, folder = sweep
    environment = os.environ | {"XDG_RUNTIME_DIR": str(folder.parent), "CUDA_VISIBLE_DEVICES": ""}
    environment |= options.pop("environment", {})
    environment.pop("TRITON_INTERPRET", None)  # the tests' own
    options = {"gpu": "cpu", "M": 8, "N": 32, "time-budget": 0.05, "output": "row.csv"} | options
    options = {"variant": variant, "served-for": process.pid} | options
    options = {key: value for key, value in options.items() if value != ""}
    words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
    return subprocess.Popen(
        [sys.executable, "-m", "measure", "point", *words],
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def measure(project, sweep, variant="torch_softmax", **options):
    """(row, what the command wrote to stderr)."""
    point = begin(project, sweep, variant, **options)
    _, said = point.communicate(timeout=PATIENCE_S)
    assert point.returncode == 0, said
    with (project / options.get("output", "row.csv")).open(newline="") as file:
        (row,) = csv.DictReader(file)
    return row, said


def servers(sweep) -> list[psutil.Process]:
    """The servers that run for a sweep."""
    folder = str(sweep[1])
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "measure.server" in words and any(word.startswith(folder) for word in words):
            found.append(process)
    # what they have forked goes by the same words
    return [p for p in found if p.ppid() not in {other.pid for other in found}]


def until(condition) -> None:
    """Wait for what must come."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def write_kernel(project, name, body) -> None:
    source = "import os, sys, time, torch\ndef softmax(x, out=None):\n"
    source += "".join(f"    {line}\n" for line in body.splitlines())
    (project / "kernels" / f"{name}.py").write_text(source)


def test_one_server_measures_all_points_of_a_sweep(project, sweep):
    first, said = measure(project, sweep)
    (server,) = servers(sweep)
    second, said_again = measure(project, sweep, "torch_naive", M=16)
    assert servers(sweep) == [server]
    assert (first["status"], second["status"]) == ("ok", "ok")
    assert (second["variant"], second["M"]) == ("torch_naive", "16")
    assert "fresh Python" not in said + said_again


@pytest.mark.parametrize("fit", [True, False], ids=["fit to be forked", "with a thread"])
def test_what_the_rival_imports_is_loaded_once_if_a_fork_stands_it(project, sweep, tmp_path, fit):
    """In a child that tries, and in the server; or else in that child and in each worker."""
    begins = "" if fit else "import threading, time; "
    begins += "" if fit else "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()"
    heavy, told = tmp_path / "heavy.py", tmp_path / "told"
    heavy.write_text(f"open({str(told)!r}, 'a').write('x')\n{begins}\n")
    write_kernel(project, "other", "import heavy\nreturn torch.softmax(x, -1, out=out)")
    for number in range(2):
        row, said = measure(
            *(project, sweep),
            rival="other",
            output=f"{number}.csv",
            environment={"PYTHONPATH": str(tmp_path)},
        )
        assert (row["status"], row["rival"]) == ("ok", "other"), row["message"]
        assert "fresh Python" not in said
    assert told.read_text() == ("xx" if fit else "xxx")


def test_modules_that_ask_for_the_gpu_are_answered_without_the_driver(tmp_path):
    """As QuACK does while it is imported; what torch says afterwards is its own again."""
    asks = "import torch\nsaid = torch.cuda.is_available(), torch.cuda.get_device_capability()\n"
    (tmp_path / "asks.py").write_text(asks)
    code = (
        "import sys; from measure import server; import torch; own = torch.cuda.is_available\n"
        "server.load(['asks'], '9.0')\n"
        "print(sys.modules['asks'].said, torch.cuda.is_available is own)"
    )
    environment = dict(os.environ, PYTHONPATH=f"{ROOT}{os.pathsep}{tmp_path}")
    environment["OPENBLAS_NUM_THREADS"] = "1"  # torch is imported before the server can say so
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "(True, (9, 0)) True\n", done.stderr


def test_a_worker_is_a_fork_of_the_server(project, sweep):
    write_kernel(project, "tells", "raise RuntimeError(open('/proc/self/cmdline').read())")
    row, _ = measure(project, sweep, "tells")
    assert "measure.server" in row["message"]


def test_the_row_is_that_of_a_fresh_python(project, sweep):
    forked, _ = measure(project, sweep)
    words = ["--gpu", "cpu", "--M", "8", "--N", "32", "--time-budget", "0.05"]
    command = [sys.executable, "-m", "measure", "point", *words, "--variant", "torch_softmax"]
    subprocess.run([*command, "--output", "fresh.csv"], cwd=project, check=True)
    with (project / "fresh.csv").open(newline="") as file:
        (fresh,) = csv.DictReader(file)
    assert {k for k, v in forked.items() if v} == {k for k, v in fresh.items() if v}
    same = ("gpu_name", "torch", "measure_sha256", "kernel_sha256", "max_abs_error", "timing")
    assert [forked[k] for k in same] == [fresh[k] for k in same]


def test_triton_is_interpreted_by_a_server_of_its_own(project, sweep):
    assert measure(project, sweep, "triton_row")[0]["status"] == "interpreted"
    assert measure(project, sweep, "torch_softmax")[0]["status"] == "ok"
    assert len(servers(sweep)) == 2


def test_the_server_ends_with_its_owner(project, sweep):
    measure(project, sweep)
    (server,) = servers(sweep)
    sweep[0].send_signal(signal.SIGKILL)
    sweep[0].wait()
    until(lambda: not server.is_running())
    assert [path.name for path in sweep[1].iterdir()] == [served.LOCK]


def test_a_point_in_flight_ends_with_the_owner_and_leaves_no_row(project, sweep):
    write_kernel(project, "sleeps", ASLEEP)
    point = begin(project, sweep, "sleeps")
    until((project / "asleep").exists)
    (server,) = servers(sweep)
    started = server.children(recursive=True)
    sweep[0].kill()
    sweep[0].wait()
    _, said = point.communicate(timeout=PATIENCE_S)
    assert point.returncode == 2
    assert "for which this point was measured, has ended" in said
    until(lambda: not any(process.is_running() for process in started))
    assert not (project / "row.csv").exists()


def test_points_in_flight_do_not_notice_the_end_of_their_server(project, sweep):
    write_kernel(project, "waits", "open('asleep', 'w')\nwhile not os.path.exists('go'):\n"
                 "    time.sleep(0.01)\nreturn torch.softmax(x, dim=-1, out=out)")  # fmt: skip
    points = [begin(project, sweep, "waits", output=f"{number}.csv") for number in range(2)]
    until(lambda: [len(server.children()) for server in servers(sweep)] == [2])
    until((project / "asleep").exists)
    servers(sweep)[0].kill()
    (project / "go").touch()
    for number, point in enumerate(points):
        _, said = point.communicate(timeout=PATIENCE_S)
        assert point.returncode == 0, said
        assert ",ok," in (project / f"{number}.csv").read_text()


@pytest.mark.parametrize("served", [True, False])
def test_what_a_kernel_has_started_does_not_survive_it(project, sweep, served):
    write_kernel(project, "starts", STARTS)
    options = {"timeout": 10} if served else {"timeout": 30, "served-for": ""}
    row, _ = measure(project, sweep, "starts", **options)
    assert row["status"] == "timeout"
    pids = [int(word) for word in (project / "pids").read_text().split()]
    assert len(pids) >= 2
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []


def test_a_client_that_says_nothing_delays_nobody(project, sweep):
    measure(project, sweep)
    (path,) = sweep[1].glob("*.socket")

    def is_still_waited_for() -> bool:
        """Whether the silent one has its time to send a request after a point is measured."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
            silent.connect(str(path))
            assert measure(project, sweep)[0]["status"] == "ok"
            silent.setblocking(False)
            try:
                return silent.recv(1) != b""
            except BlockingIOError:
                return True

    # a point may take longer than that time, on a busy machine; where it waits, it always does
    assert any(is_still_waited_for() for _ in range(5))


def test_a_runtime_folder_that_is_gone_is_done_without(project, sweep):
    row, said = measure(project, sweep, environment={"XDG_RUNTIME_DIR": "/run/user/none"})
    assert row["status"] == "ok"
    assert "fresh Python" not in said


def test_nothing_is_measured_for_an_owner_that_is_not_there(project, sweep):
    gone = subprocess.Popen(["true"])
    gone.wait()
    point = begin(project, (gone, sweep[1]), "torch_softmax")
    _, said = point.communicate(timeout=PATIENCE_S)
    assert point.returncode == 2
    assert f"process {gone.pid}, for which this point was measured, has ended" in said
    assert not (project / "row.csv").exists()
    assert servers(sweep) == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("os._exit(3)", "the process ended (exit code 3) in stage: gate"),
        ("os.abort()", "the process ended (signal SIGABRT) in stage: gate"),
        ("os.kill(os.getppid(), 9)\ntime.sleep(60)", "(signal SIGKILL) in stage: gate"),
    ],
    ids=["exits", "aborts", "kills the server"],
)
def test_what_a_kernel_does_ends_its_point_alone(project, sweep, body, words):
    write_kernel(project, "bad", body)
    row, _ = measure(project, sweep, "bad")
    assert row["status"] == "crash"
    assert words in row["message"]
    assert measure(project, sweep)[0]["status"] == "ok"


def test_a_point_that_never_ends_is_killed_with_all_it_has_started(project, sweep):
    body = "import subprocess\nsubprocess.Popen(['sleep', '601'])\ntime.sleep(600)"
    write_kernel(project, "forever", body)
    measure(project, sweep)  # so that the time limit is not spent on loading
    row, _ = measure(project, sweep, "forever", timeout=10)
    assert row["status"] == "timeout"
    assert row["message"].startswith("killed after 10 s, in stage: gate")
    (server,) = servers(sweep)
    assert server.children(recursive=True) == []


def test_a_killed_job_takes_its_point_along(project, sweep):
    write_kernel(project, "sleeps", ASLEEP)
    point = begin(project, sweep, "sleeps")
    until((project / "asleep").exists)
    point.kill()
    point.communicate(timeout=PATIENCE_S)
    until(lambda: servers(sweep)[0].children(recursive=True) == [])
    assert not (project / "row.csv").exists()


def test_an_edited_kernel_is_read_anew(project, sweep):
    write_kernel(project, "mine", "return torch.softmax(x, dim=-1, out=out)")
    before, _ = measure(project, sweep, "mine")
    write_kernel(project, "mine", "return x")
    after, _ = measure(project, sweep, "mine")
    assert (before["status"], after["status"]) == ("ok", "incorrect")
    assert len(servers(sweep)) == 1


def test_another_environment_or_measuring_code_has_a_server_of_its_own(project, sweep):
    measure(project, sweep)
    measure(project, sweep, environment={"OMP_NUM_THREADS": "1"})
    assert len(servers(sweep)) == 2
    with (project / "measure" / "stats.py").open("a") as file:
        file.write("# edited\n")
    measure(project, sweep)
    assert len(servers(sweep)) == 3


def test_the_job_s_own_environment_reaches_the_kernel(project, sweep):
    write_kernel(project, "looks", "raise RuntimeError(os.environ['TMPDIR'] + ' ' + os.getcwd())")
    row, _ = measure(project, sweep, "looks", environment={"TMPDIR": str(project)})
    assert row["message"] == f"RuntimeError: {project} {project}"
    assert measure(project, sweep, environment={"TMPDIR": "/tmp"})[0]["status"] == "ok"
    assert len(servers(sweep)) == 1


def test_strangers_and_nonsense_are_refused_and_the_server_goes_on(project, sweep):
    measure(project, sweep)
    (path,) = sweep[1].glob("*.socket")
    for said in (b"\xff\xff\xff\xff", b"\x00\x00\x00\x02{]", b""):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(path))
            connection.sendall(said)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(4) == b""
    assert measure(project, sweep)[0]["status"] == "ok"
    assert len(servers(sweep)) == 1


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
def test_another_user_s_request_is_refused(project, sweep, tmp_path, stranger):
    measure(project, sweep)
    (path,) = sweep[1].glob("*.socket")
    folder = Path(tempfile.mkdtemp(dir=sweep[1].parent))
    point = Point(gpu="cpu", dtype="float32", M=4, N=8, variant="torch_softmax", time_budget_s=0.05)
    (folder / "point.json").write_text(json.dumps(point.as_dict()))
    for open_to_all in (path, path.parent, path.parent.parent, folder):
        open_to_all.chmod(0o1777)
    who = ["setpriv", "--reuid=65534", "--clear-groups"] if stranger else []
    command = [*who, "python3", "-c", ASKS, str(path), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
    assert (folder / "done.json").exists() != stranger, done.stderr
    assert ("refused: another user" in path.with_suffix(".log").read_text()) == stranger
    assert (folder / "progress.json").exists() != stranger


def test_a_server_of_another_user_is_not_asked(project, sweep, monkeypatch):
    measure(project, sweep)
    (path,) = sweep[1].glob("*.socket")
    served._open(path).close()
    monkeypatch.setattr(wire, "peer_uid", lambda connection: os.getuid() + 1)
    with pytest.raises(served.NoServer, match="belongs to another user"):
        served._open(path)


@pytest.mark.parametrize(("mode", "safe"), [(0o755, True), (0o1777, True), (0o777, False)])
def test_a_place_where_others_may_swap_folders_is_not_used(sweep, monkeypatch, mode, safe):
    base = sweep[1].parent
    base.chmod(mode)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(base))
    assert (served.private_folder().parent == base) == safe


@pytest.mark.parametrize("by", ["a system call", "looking"])
def test_the_end_of_a_process_is_noticed_without_pidfd_open(monkeypatch, by):
    monkeypatch.delattr(os, "pidfd_open")
    if by == "looking":

        def forbidden(pid):
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

        monkeypatch.setattr(owner, "_pidfd", forbidden)
    process = subprocess.Popen(["sleep", "600"])
    end = owner.open_pidfd(process.pid)
    assert select.select([end], [], [], 0.2)[0] == []
    process.kill()
    assert select.select([end], [], [], PATIENCE_S)[0] == [end]
    process.wait()
    with pytest.raises(ProcessLookupError):
        owner.open_pidfd(process.pid)
    os.close(end)


def test_a_point_is_served_where_there_is_no_pidfd_open(project, sweep):
    (project / "sitecustomize.py").write_text(
        "import os\n"
        "if 'measure.server' in open('/proc/self/cmdline').read():\n"
        "    from measure import owner\n"
        "    def forbidden(pid): raise OSError(38, 'not here')\n"
        "    owner._pidfd = forbidden\n"
    )
    for number in range(2):
        row, said = measure(project, sweep, output=f"{number}.csv")
        assert row["status"] == "ok"
        assert "fresh Python" not in said
    (server,) = servers(sweep)
    sweep[0].kill()
    sweep[0].wait()
    until(lambda: not server.is_running())


def test_a_folder_that_others_can_enter_is_not_used(project, sweep):
    sweep[1].mkdir(mode=0o755)
    sweep[1].chmod(0o755)
    assert measure(project, sweep)[0]["status"] == "ok"
    assert list(sweep[1].iterdir()) == []


def test_who_is_at_the_other_end_is_known():
    here, there = socket.socketpair()
    with here, there:
        assert wire.peer_uid(here) == os.getuid()


def test_a_process_is_known_by_number_and_start():
    since = owner.started(os.getpid())
    assert owner.is_alive(os.getpid(), since)
    assert not owner.is_alive(os.getpid(), str(int(since) + 1))
    ended = subprocess.Popen(["true"])
    until(lambda: Path(f"/proc/{ended.pid}/stat").read_text().split(") ")[1][0] == "Z")
    assert owner.started(ended.pid) is None, "ended, though nobody has waited for it"
    ended.wait()
    assert owner.started(ended.pid) is None


def test_a_name_depends_on_who_may_be_served():
    environment = {"PATH": "/bin", "CUDA_VISIBLE_DEVICES": "0"}
    name = served._name(environment, 1, "2")
    assert name == served._name(environment | {"CUDA_VISIBLE_DEVICES": "1"}, 1, "2")
    others = [
        served._name(environment, 1, "3"),
        served._name(environment, 2, "2"),
        served._name(environment | {"TRITON_INTERPRET": "1"}, 1, "2"),
    ]
    assert len({name, *others}) == 4


# As much of NVML as is asked for the name of a GPU.
NVML = """
class NVMLError(Exception): pass
def nvmlInit(): pass
def nvmlShutdown(): pass
def nvmlDeviceGetCount(): return 1
def nvmlDeviceGetHandleByIndex(index): return index
def nvmlDeviceGetUUID(handle): return "GPU-aaaa"
def nvmlDeviceGetName(handle): return "NVIDIA H200"
def nvmlDeviceGetMigMode(handle): raise NVMLError
"""
DONE = """
import json
def main(folder, parent):
    (folder / "done.json").write_text(json.dumps({"row": ROW, "samples": []}))
"""
SEES = """
_keep = keep
def keep(connection, spawn, pidfd=None, heard=None):
    print("answered before the end:", heard is not None, file=sys.stderr, flush=True)
    _keep(connection, spawn, pidfd, heard)
"""


@pytest.mark.parametrize("gpu", ["h200", "cpu"])
def test_only_a_point_that_holds_a_gpu_is_answered_before_its_worker_has_ended(
    project, sweep, tmp_path, gpu
):
    (tmp_path / "pynvml.py").write_text(NVML)
    row = {"gpu": gpu, "gpu_name": gpu, "status": "crash"}
    (project / "measure/worker.py").write_text(DONE.replace("ROW", repr(row)))
    with (project / "measure/keeper.py").open("a") as file:
        file.write(SEES)
    slots = project / "measure/slots.py"
    slots.write_text(slots.read_text().replace('Path("/tmp")', f"Path({str(tmp_path)!r})"))
    environment = {"PYTHONPATH": str(tmp_path), "CUDA_VISIBLE_DEVICES": "0"}
    found, _ = measure(project, sweep, gpu=gpu, environment=environment)
    assert found["status"] == "crash"
    (log,) = sweep[1].glob("*.log")
    assert f"answered before the end: {gpu == 'h200'}" in log.read_text()
    until(lambda: servers(sweep)[0].children(recursive=True) == [])


def test_a_worker_imports_nothing_that_the_server_could_have(project, sweep):
    names = [name for name in server.LOADED if name != "measure.telemetry"]  # needs NVML
    body = f"raise RuntimeError([name for name in {names!r} if name not in sys.modules])"
    write_kernel(project, "looks", body)
    assert measure(project, sweep, "looks")[0]["message"] == "RuntimeError: []"


CHECKS = """
import sys, threading, time
from measure import server
server.DRIVER = sys.argv[1]
server.check_can_fork()
ACT
server.check_can_fork()
"""


@pytest.mark.parametrize(
    ("act", "why"),
    [
        ("file = open(sys.argv[1] + 'ctl')", "the driver is in use"),
        ("threading.Thread(target=time.sleep, args=[600], daemon=True).start()", "2 threads"),
        ("pass", ""),
    ],
)
def test_a_process_that_cannot_be_forked_is_no_server(tmp_path, act, why):
    (tmp_path / "nvidiactl").touch()
    command = [sys.executable, "-c", CHECKS.replace("ACT", act), str(tmp_path / "nvidia")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, why in done.stderr) == (bool(why), True), done.stderr


def test_a_job_of_several_threads_is_served_too(project, sweep, monkeypatch):
    """Snakemake tells it so by this variable, which would give the server threads, too."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    _, said = measure(project, sweep)
    assert "fresh Python" not in said
    assert len(servers(sweep)) == 1
