"""Modules in place of other projects' packages, for tests without a GPU."""

from types import ModuleType


def fake(modules, name: str, **members) -> None:
    """Add a module of this name, and the packages that it lies in."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        modules.setdefault(".".join(parts[:end]), ModuleType(".".join(parts[:end])))
    vars(modules[name]).update(members)
