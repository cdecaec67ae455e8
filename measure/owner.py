"""The process that a server belongs to, so that it never outlives it nor serves another."""

from pathlib import Path


def started(pid: int) -> str | None:
    """When a process began, in the kernel's clock ticks: with its number, its identity.

    None where there is no such process, or where it has ended and nobody has waited for it.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # the name, in parentheses, may hold anything
    state, *fields = text.rpartition(")")[2].split()
    return None if state == "Z" else fields[18]


def is_alive(pid: int, since: str) -> bool:
    """Whether the process that began then still runs."""
    return started(pid) == since
