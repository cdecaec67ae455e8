"""Processes that tests start, asked in one place: one that has ended is an answer, not an error."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil

from measure import ROOT

T = TypeVar("T")

PATIENCE_S = 150  # for what must happen soon; a busy machine takes its time to load torch


def until(condition: Callable[[], T], patience_s: float = PATIENCE_S) -> T:
    """Wait for what must come; return what the condition says then."""
    end = time.monotonic() + patience_s
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found


def ask(question: Callable[[], T], gone: T) -> T:
    """Return the answer, or `gone` where the process has ended or is another user's."""
    try:
        return question()
    except (psutil.NoSuchProcess, psutil.AccessDenied):  # a zombie is a NoSuchProcess, too
        return gone


def is_alive(process: psutil.Process) -> bool:
    """Return whether it runs. One that has ended and is not waited for does not."""
    return ask(lambda: process.is_running() and process.status() != psutil.STATUS_ZOMBIE, False)


def find(fits: Callable[[psutil.Process], bool]) -> list[psutil.Process]:
    """Return the living processes that fit."""
    return [p for p in psutil.process_iter() if ask(lambda p=p: fits(p), False) and is_alive(p)]


def by_variable(name: str, value: object) -> list[psutil.Process]:
    """Return the processes that were started with this environment variable."""
    return find(lambda process: process.environ().get(name) == str(value))


def roots(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return those whose parent is not among them: what a process forks goes by its words."""
    pids = {process.pid for process in processes}
    return [process for process in processes if ask(process.ppid, None) not in {None, *pids}]


def kill(processes: list[psutil.Process]) -> None:
    """Kill those that still run."""
    for process in processes:
        ask(process.kill, None)


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Return what a command prints, which must succeed."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done.stdout


def run_code(code: str, *words: str) -> str:
    """Return what Python prints when it runs `code` in a new process."""
    return run(sys.executable, "-c", code, *words)
