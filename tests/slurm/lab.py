"""A real Slurm on this machine: Debian's daemons on loopback, two nodes, fake GPUs of two types.

Needs root and the packages in PACKAGES; no systemd, no cgroups, no accounting. Everything lies in
one new folder, and every process that the lab or one of its jobs starts carries that folder in an
environment variable, by which all are found and ended.
"""

import contextlib
import os
import secrets
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import psutil

from tests import processes
from tests.workflow import runner

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo")
NODES = {"node1": "a100", "node2": "h200", "node3": "l40s"}  # name -> type of its GPUs
GPUS = 8  # of a node
MARK, MARK_NODE = "LAB_FOLDER", "LAB_NODE"
START_S = 60  # for a daemon to answer, on a busy machine

CONF = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[slurmctld]}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
CredType=cred/munge
# cred_expire: a requeued job waits that long before it starts again; the default is 120 s
AuthInfo=socket={folder}/munge/socket,cred_expire=8
SlurmUser=root
SlurmdUser=root
# by parent processes, not by cgroups; with those, nodes look idle and every step fails
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
# nodes may have more processors than the machine
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
GresTypes=gpu
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=100000
# a silent node is lost after 10 s, and back as soon as it reports
SlurmdTimeout=10
ReturnToService=2
KillWait=2
# three times what the Slurm plugin waits between two looks at squeue, and more
MinJobAge=600
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=64 RealMemory=200000"
    " Gres=gpu:{type}:{gpus} Feature=has_{type}\n"
    "PartitionName={type}s Nodes={name} MaxTime=INFINITE State=UP"
)

Fits = Callable[[dict[str, str]], bool]  # of the environment of a process


def lacks() -> str:
    """One sentence that says what a Slurm lacks here, or nothing."""
    if os.geteuid() != 0:
        return "a real Slurm can only be started by root"
    missing = ", ".join(name for name in NEEDED if shutil.which(name) is None)
    packages = " ".join(PACKAGES)
    return missing and f"no {missing} here; apt-get install --no-install-recommends {packages}"


def can_fake_gpus() -> bool:
    """Whether root may make device files, which some containers forbid."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            _fake_gpu(Path(folder, "nvidia0"))
        except PermissionError:
            return False
    return True


class Lab:
    """The cluster, while a `with` block lasts; `environment` is what its users need."""

    def __init__(self):
        # not below pytest's own folder, which only root may enter: munge wants an open path
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-lab-"))
        found = runner.environment().items()
        self.environment = {k: v for k, v in found if not k.startswith("SLURM")}
        self.environment |= {
            MARK: str(self.folder),
            "SLURM_CONF": str(self.folder / "slurm.conf"),
        }
        self._daemons = []

    def __enter__(self) -> "Lab":
        try:
            self._write()
            self._start_munge()
            self._daemon("slurmctld", "slurmctld", "-D", "-i")
            processes.until(lambda: "UP" in self.ask("scontrol", "ping"), START_S)
            for node in NODES:
                self.bring_back(node)
            processes.until(lambda: set(self.node_states().values()) == {"idle"}, START_S)
        except BaseException:
            print(self.logs())
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        self._end(lambda variables: True)
        for daemon in self._daemons:
            daemon.wait()
        shutil.rmtree(self.folder)

    def ask(self, *command: str) -> str:
        """What a command of Slurm prints; nothing where it fails."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else ""

    def tell(self, *command: str) -> None:
        """Run a command of Slurm that must succeed."""
        subprocess.run(command, env=self.environment, check=True)

    def node_states(self) -> dict[str, str]:
        """name -> idle, mixed, allocated, down*, …"""
        lines = self.ask("sinfo", "--noheader", "-N", "-p", "all", "-o", "%N %T").splitlines()
        return dict(line.split() for line in lines)

    def jobs(self, folder: Path) -> list[dict[str, str]]:
        """Jobs submitted from `folder`, in order, as `scontrol show job` has them."""
        blocks = self.ask("scontrol", "show", "job", "--oneliner").splitlines()
        found = [dict(w.split("=", 1) for w in b.split() if "=" in w) for b in blocks]
        found = [job for job in found if job.get("WorkDir") == str(folder)]
        return sorted(found, key=lambda job: int(job["JobId"]))

    def lose(self, node: str) -> None:
        """Switch a node off: its daemon and all that ran on it, without a chance to say so."""
        names = (MARK_NODE, "SLURMD_NODENAME")
        self._end(lambda variables: node in map(variables.get, names))

    def bring_back(self, node: str) -> None:
        """Switch a node on."""
        self._daemon(f"slurmd-{node}", "slurmd", "-D", "-N", node, **{MARK_NODE: node})

    def _processes(self, fits: Fits) -> set[psutil.Process]:
        """Those of the lab that fit, and the step daemons above them, which overwrite theirs."""
        here = {MARK: str(self.folder)}.items()
        found = processes.find(
            lambda p: p.pid != os.getpid() and p.environ().items() >= here and fits(p.environ())
        )
        above = (processes.ask(process.parent, None) for process in found)
        return {*found, *(p for p in above if p and processes.ask(p.name, "") == "slurmstepd")}

    def _end(self, fits: Fits) -> None:
        """Kill the processes that fit, all at a blow: none tells of another's end."""
        stopped = set()
        while new := self._processes(fits) - stopped:
            for process in new:
                processes.ask(process.suspend, None)
            stopped |= new
        processes.kill(stopped)
        processes.until(lambda: not self._processes(fits), 30)

    def logs(self) -> str:
        """The ends of the daemons' logs, for somebody who looks for what went wrong."""
        paths = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out")])
        return "\n".join(f"--- {p.name}\n{p.read_text(errors='replace')[-3000:]}" for p in paths)

    def _write(self) -> None:
        self.folder.chmod(0o755)
        for name in ("munge", "state", "dev"):
            (self.folder / name).mkdir()
        host = socket.gethostname().split(".")[0]
        ports = dict(zip(("slurmctld", *NODES), _free_ports(1 + len(NODES)), strict=True))
        nodes = [
            NODE.format(name=name, host=host, port=ports[name], type=kind, gpus=GPUS)
            for name, kind in NODES.items()
        ]
        (self.folder / "slurm.conf").write_text(
            CONF.format(folder=self.folder, host=host, ports=ports, nodes="\n".join(nodes))
        )
        for index in range(GPUS):
            _fake_gpu(self.folder / f"dev/nvidia{index}")
        files = f"{self.folder}/dev/nvidia[0-{GPUS - 1}]"
        lines = [f"NodeName={n} Name=gpu Type={kind} File={files}\n" for n, kind in NODES.items()]
        (self.folder / "gres.conf").write_text("".join(lines))

    def _start_munge(self) -> None:
        """Munge with a separate key and socket, as the user that the package made."""
        folder = self.folder / "munge"
        key = folder / "key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        for path in (folder, key):
            shutil.chown(path, "munge", "munge")
        files = {"key": "key", "pid": "pid", "log": "log", "seed": "seed"}
        options = [f"--{option}-file={folder / name}" for option, name in files.items()]
        as_munge = ("--reuid", "munge", "--regid", "munge", "--clear-groups")
        self._daemon("munged", *as_munge, "munged", "-F", f"--socket={folder}/socket", *options)
        processes.until(lambda: self.ask("munge", "-n", f"--socket={folder}/socket"), START_S)

    def _daemon(self, name: str, *command: str, **variables: str) -> None:
        """Start a daemon; before its name in `command` may stand options of setpriv."""
        with (self.folder / f"{name}.out").open("ab") as output:
            daemon = subprocess.Popen(
                # it ends with the thread that started it, should nobody be left to end it
                ("setpriv", "--pdeathsig", "KILL", *command),
                env=self.environment | variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._daemons.append(daemon)


def _fake_gpu(path: Path) -> None:
    """A second name for /dev/null: Slurm sets CUDA_VISIBLE_DEVICES only for device files."""
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as open_sockets:
        sockets = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
