"""A real Slurm on this machine: Debian's daemons on loopback, two nodes, fake GPUs of two types.

Needs root and the packages in PACKAGES; no systemd, no cgroups, no accounting. Everything lies in
one new folder, and every process that the lab or one of its jobs starts carries that folder in an
environment variable, by which all are found and ended.
"""

import contextlib
import os
import shutil
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import psutil

from tests import processes
from tests.workflow import runner

PACKAGES = ("slurmctld", "slurmd", "slurm-client")
NEEDED = ("slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo")
NODES = {"node1": "a100", "node2": "h200", "node3": "l40s"}  # name -> type of its GPUs
GPUS = 8  # Cores of a node.
MARK = "LAB_FOLDER"
START_S = 60  # Seconds for a daemon to answer on a busy machine.

CONF = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[slurmctld]}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/none
CredType=cred/none
# a requeued job waits that long before it starts again; the default is 120 s
AuthInfo=cred_expire=8
SlurmUser=root
SlurmdUser=root
# by parent processes, not by cgroups; with those, nodes look idle and every step fails
ProctrackType=proctrack/linuxproc
# nodes may have more processors than the machine
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
GresTypes=gpu
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=100000
KillWait=2
# three times what the Slurm plugin waits between two looks at squeue, and more
MinJobAge=600
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=64 RealMemory=200000"
    " Gres=gpu:{type}:{gpus} Feature=has_{type}\n"
    "PartitionName={type}s Nodes={name} MaxTime=INFINITE State=UP"
)


def lacks() -> str:
    """One sentence that says what a Slurm lacks here, or nothing."""
    if os.geteuid() != 0:
        return "a real Slurm can only be started by root"
    missing = ", ".join(name for name in NEEDED if shutil.which(name) is None)
    if missing:
        packages = " ".join(PACKAGES)
        return f"no {missing} here; apt-get install --no-install-recommends {packages}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            _fake_gpu(Path(folder, "nvidia0"))
        except PermissionError:  # some containers have none
            return "device files, which stand for GPUs, may not be made here"
    return ""


class Lab:
    """The cluster, while a `with` block lasts; `environment` is what its users need."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-lab-"))
        found = runner.environment().items()
        self.environment = {k: v for k, v in found if not k.startswith("SLURM")}
        self.environment |= {MARK: str(self.folder), "SLURM_CONF": f"{self.folder}/slurm.conf"}
        self._daemons = []

    def __enter__(self) -> "Lab":
        try:
            self._write()
            self._daemon("slurmctld", "slurmctld", "-D", "-i")
            processes.until(lambda: "UP" in self.ask("scontrol", "ping"), START_S)
            for node in NODES:
                self._daemon(f"slurmd-{node}", "slurmd", "-D", "-N", node)
            states = ("sinfo", "--noheader", "-p", "all", "-o", "%T")
            processes.until(lambda: self.ask(*states).split() == ["idle"], START_S)
        except BaseException:
            print(self.logs())
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        stopped = set()  # all at a blow: none tells of another's end
        while new := self._processes() - stopped:
            for process in new:
                processes.ask(process.suspend, None)
            stopped |= new
        processes.kill(stopped)
        processes.until(lambda: not self._processes(), 30)
        for daemon in self._daemons:
            daemon.wait()
        shutil.rmtree(self.folder)

    def ask(self, *command: str) -> str:
        """What a command of Slurm prints; nothing where it fails."""
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, encoding="utf-8"
        )
        return done.stdout if done.returncode == 0 else ""

    def tell(self, *command: str) -> None:
        """Run a command of Slurm that must succeed."""
        subprocess.run(command, env=self.environment, check=True)

    def jobs(self, folder: Path) -> list[dict[str, str]]:
        """Jobs submitted from `folder`, in order, as `scontrol show job` has them."""
        blocks = self.ask("scontrol", "show", "job", "--oneliner").splitlines()
        found = [dict(w.split("=", 1) for w in b.split() if "=" in w) for b in blocks]
        found = [job for job in found if job.get("WorkDir") == str(folder)]
        return sorted(found, key=lambda job: int(job["JobId"]))

    def _processes(self) -> set[psutil.Process]:
        """Those of the lab, and the step daemons above them, which overwrite their environment."""
        found = processes.by_variable(MARK, self.folder)
        above = (processes.ask(process.parent, None) for process in found)
        return {*found, *(p for p in above if p and processes.ask(p.name, "") == "slurmstepd")}

    def logs(self) -> str:
        """The ends of what the daemons print, for somebody who looks for what went wrong."""
        paths = sorted(self.folder.glob("*.out"))
        return "\n".join(
            f"--- {p.name}\n{p.read_text(errors='replace', encoding='utf-8')[-3000:]}"
            for p in paths
        )

    def _write(self) -> None:
        for name in ("state", "dev"):
            (self.folder / name).mkdir()
        host = socket.gethostname().split(".")[0]
        ports = dict(zip(("slurmctld", *NODES), _free_ports(1 + len(NODES)), strict=True))
        nodes = [
            NODE.format(name=name, host=host, port=ports[name], type=kind, gpus=GPUS)
            for name, kind in NODES.items()
        ]
        (self.folder / "slurm.conf").write_text(
            CONF.format(folder=self.folder, host=host, ports=ports, nodes="\n".join(nodes)),
            encoding="utf-8",
        )
        for index in range(GPUS):
            _fake_gpu(self.folder / f"dev/nvidia{index}")
        files = f"{self.folder}/dev/nvidia[0-{GPUS - 1}]"
        lines = [f"NodeName={n} Name=gpu Type={kind} File={files}\n" for n, kind in NODES.items()]
        (self.folder / "gres.conf").write_text("".join(lines), encoding="utf-8")

    def _daemon(self, name: str, *command: str) -> None:
        # it ends with the thread that started it, should nobody be left to end it
        words = ("setpriv", "--pdeathsig", "KILL", *command)
        settings = {"env": self.environment, "stdin": subprocess.DEVNULL, "start_new_session": True}
        with (self.folder / f"{name}.out").open("ab") as output:
            pipes = {"stdout": output, "stderr": subprocess.STDOUT}
            self._daemons.append(subprocess.Popen(words, **settings, **pipes))


def _fake_gpu(path: Path) -> None:
    """A second name for /dev/null: Slurm sets CUDA_VISIBLE_DEVICES only for device files."""
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:  # all are open at once
        servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        return [stack.enter_context(server).getsockname()[1] for server in servers]
