"""Check recorded folders: may data/recorded/{gpu} be believed by whoever has no such GPU?"""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import yaml

from analysis import record, recorded_samples, rows, schema
from analysis.errors import InputError
from measure.device import gpus

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = (".csv", ".samples.csv.gz", ".yaml")


def check(folders: Iterable[Path]) -> str:
    """What was checked, in a line. Raises InputError, with every fault on a line of its own."""
    told, faults = [], []
    for folder in map(Path, folders):
        try:
            told.append(_check_folder(folder))
        except InputError as error:
            faults.append(str(error))
    if faults:
        raise InputError("\n  ".join(["not fit to be recorded:", *faults]))
    if not told:
        raise InputError("no folder to check; give one, such as data/recorded/h200")
    return "; ".join(told)


def _check_folder(folder: Path) -> str:
    if folder.name == gpus.CPU:
        raise InputError(f"{folder}: rows of a CPU are not recorded; remove the folder")
    sweeps = _sweeps(folder)
    found = {sweep: _table(folder, sweep) for sweep in sweeps}
    names = sorted({row["gpu_name"] for part in found.values() for row in part})
    if len(names) != 1:
        raise InputError(f"{folder}: rows of several GPUs ({', '.join(names)}); one for a folder")
    if gpus.slug(names[0]) != folder.name:
        raise InputError(
            f"{folder}: rows of {names[0]!r}, whose short name is {gpus.slug(names[0])!r}; rename "
            "the folder"
        )
    _check_commits(folder, found)
    for sweep, part in found.items():
        _check_about(folder / f"{sweep}.yaml", part, sweep)
        recorded_samples.check(folder / f"{sweep}.samples.csv.gz", part)
    count = sum(map(len, found.values()))
    return f"{folder}: {len(found)} sweeps, {count} rows of {names[0]}, all as they should be"


def _sweeps(folder: Path) -> list[str]:
    """The sweeps of a folder; each has its three files, and there are no others."""
    here = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    sweeps = sorted({name.partition(".")[0] for name in here})
    wanted = {f"{sweep}{suffix}" for sweep in sweeps for suffix in SUFFIXES}
    if not sweeps:
        raise InputError(f"{folder}: nothing recorded there; `make record` writes such a folder")
    if strange := sorted(here - wanted):
        raise InputError(f"{folder / strange[0]}: not a file of a recorded sweep; remove it")
    if missing := sorted(wanted - here):
        raise InputError(f"{folder / missing[0]}: missing; `make record` writes it")
    return sweeps


def _table(folder: Path, sweep: str) -> list[dict[str, str]]:
    path = folder / f"{sweep}.csv"
    names = schema.header()
    lines = rows.read_rows(path)
    if not lines:
        raise InputError(f"{path}: no rows; record the sweep again")
    rows.refuse_duplicates((rows.point_of(line, names), path) for line in lines)
    found = [dict(zip(names, line, strict=True)) for line in lines]
    if strangers := sorted({row["gpu"] for row in found} - {folder.name}):
        raise InputError(f"{path}: has rows of gpu {strangers[0]}; a folder has its own only")
    return found


def _check_commits(folder: Path, found: dict[str, list[dict[str, str]]]) -> None:
    for sweep, part in found.items():
        path = folder / f"{sweep}.csv"
        if dirty := [row for row in part if row["git_dirty"] != "false"]:
            raise InputError(
                f"{path}: {len(dirty)} rows were measured with edited code; commit, and measure "
                "them again"
            )
        for commit in sorted({row["git_commit"] for row in part}):
            if not _is_known(commit):
                raise InputError(
                    f"{path}: measured at commit {commit!r}, which this checkout does not have; "
                    "push it with the rows, or fetch all of the history"
                )


def _is_known(commit: str) -> bool:
    if not re.fullmatch("[0-9a-f]{40}", commit):
        return False
    command = ["git", "-C", str(ROOT), "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(command, capture_output=True).returncode == 0


def _check_about(path: Path, part: list[dict[str, str]], sweep: str) -> None:
    """The provenance beside the rows is what they say themselves; the command is free."""
    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: not readable ({error}); record the sweep again") from error
    if not isinstance(said, dict) or not said.get("command"):
        raise InputError(f"{path}: does not say which command measured the rows")
    expected = record.provenance(part, sweep, said["command"])
    for fact in sorted({*said, *expected}):
        if said.get(fact) != expected.get(fact):
            raise InputError(
                f"{path}: {fact} is {said.get(fact)!r}, the rows say {expected.get(fact)!r}; "
                "record the sweep again"
            )
