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

PATIENCE_S = 150  # Seconds until what must happen soon; a busy machine takes its time to load torch
ASKED = ("environ", "status", "cmdline", "ppid")


def until(condition: Callable[[], T], patience_s: float = PATIENCE_S) -> T:
    """Wait for what must come; return what the condition says then."""
    end = time.monotonic() + patience_s
    while not (outcome := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return outcome


def ask(question: Callable[[], T], gone: T) -> T:
    """Return the answer, or `gone` where the process has ended or is another user's."""
    try:
        return question()
    except (psutil.NoSuchProcess, psutil.AccessDenied):  # a zombie is a NoSuchProcess, too
        return gone


def by_variable(name: str, value: object) -> list[psutil.Process]:
    """Return the living processes that were started with this environment variable.

    Their `info` has what is ASKED.
    """
    return [
        process
        for process in psutil.process_iter(ASKED)
        if (process.info["environ"] or {}).get(name) == str(value)
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def kill(processes: list[psutil.Process]) -> None:
    """Kill those that still run."""
    for process in processes:
        ask(process.kill, None)


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Return what a command prints, which must succeed."""
    done = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done.stdout


def run_code(code: str, *words: str) -> str:
    """Return what Python prints when it runs `code` in a new process."""
    return run(sys.executable, "-c", code, *words)
