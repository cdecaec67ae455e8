"""Record the rows and samples of a GPU for machines without that GPU, and check such folders."""

import gzip
import math
import re
import subprocess
import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import yaml

from analysis import InputError, row_files, schema
from analysis.row_files import Row
from measure.device import gpus
from measure.provenance import git
from measure.row import SAMPLE_COLUMNS, samples_path

SAMPLE = list(SAMPLE_COLUMNS)
FACTS = {"commit": "git_commit", "dirty": "git_dirty"}  # fact -> column of the rows
FACTS |= {name: name for name in ("gpu_name", *schema.VERSIONS, *schema.BASELINE_STATE, "python")}
SUFFIXES = (".csv", ".samples.csv.gz", ".yaml")
# Rounding of the samples (six decimals) and of a row's times (nine digits).
ABSOLUTE_US, RELATIVE = 1e-6, 1e-8


def record(merged: Path, rows_folder: Path, output: Path, command: str) -> None:
    """Write {sweep}.csv, {sweep}.samples.csv.gz and {sweep}.yaml to `output` for each sweep.

    `merged` is results/measurements/{gpu}.csv, `rows_folder` has the samples of its rows, and
    `output` is data/recorded/{gpu}. Each sample gets the identity of its row. The same input gives
    the same bytes. Raises InputError before it writes.
    """
    merged_rows = row_files.read_rows(merged, None)
    _check_gpu(merged_rows, merged, output)
    _refuse_another_model(merged_rows, output)
    contents: dict[Path, str | bytes] = {}
    for sweep in sorted({row["sweep"] for row in merged_rows}):
        rows = [row for row in merged_rows if row["sweep"] == sweep]
        samples = [line for row in rows for line in _samples(row, rows_folder)]
        packed = row_files.csv_text([*schema.IDENTITY, *SAMPLE], samples).encode()
        contents |= {
            output / f"{sweep}.csv": row_files.csv_text(schema.COLUMNS, rows),
            # No time in the gzip header: the same samples give the same bytes.
            output / f"{sweep}.samples.csv.gz": gzip.compress(packed, mtime=0),
            output / f"{sweep}.yaml": to_yaml(provenance(rows, sweep, command)),
        }
    for path, content in contents.items():
        row_files.write(path, content)


def _check_gpu(table: list[Row], path: Path, folder: Path) -> None:
    """Raise InputError unless all rows are of the GPU of `folder`, which is no CPU."""
    if strangers := sorted({row["gpu"] for row in table} - {folder.name}):
        raise InputError(
            f"{path} has rows of gpu {strangers[0]}, but {folder} is the folder of "
            f"{folder.name}; give a folder named {strangers[0]}"
        )
    if folder.name == gpus.CPU:
        raise InputError(
            f"{folder}: rows of a CPU are not recorded; every machine measures its own"
        )


def _refuse_another_model(table: list[Row], folder: Path) -> None:
    """Raise InputError if the folder has rows of another model of GPU, which would be lost."""
    models = {row["gpu_name"] for row in table}
    for path in sorted(folder.glob("*.csv")):
        if strangers := {row["gpu_name"] for row in row_files.read_rows(path)} - models:
            raise InputError(
                f"{path} is of {min(strangers)!r}, and the new rows are of {min(models)!r}: give "
                "the models two short names in measure/device/gpus.py, or remove the folder"
            )


def to_yaml(facts: dict) -> str:
    """Return facts as YAML, in their order."""
    return yaml.safe_dump(facts, sort_keys=False, allow_unicode=True)


def provenance(rows: list[Row], sweep: str, command: str) -> dict:
    """Return the origin of the rows: fact -> value, or a list where the rows differ."""
    started = sorted(row["started_at"] for row in rows)
    facts = {"title": f"{sweep} on {rows[0]['gpu_name']}", "recorded": started[-1][:10]}
    facts["command"] = command
    for fact, column in FACTS.items():
        absent = {""} if fact in (*schema.OPTIONAL, *schema.BASELINE_STATE) else set()
        if values := sorted({row[column] for row in rows} - absent):
            facts[fact] = values[0] if len(values) == 1 else values
    return facts | {
        "started_at": {"first": started[0], "last": started[-1]},
        "rows": len(rows),
        "rows_by_status": dict(sorted(Counter(row["status"] for row in rows).items())),
    }


def read_command(path: Path) -> tuple[str, str]:
    """Return the command that {sweep}.yaml names, and all of its text. Raises InputError."""
    try:
        text = path.read_text(encoding="utf-8")
        return yaml.safe_load(text)["command"], text
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
        fault = f"has no command that measured the rows ({type(error).__name__})"
        raise InputError(f"{path}: {fault}; record the sweep again") from error


def _samples(row: Row, rows_folder: Path) -> list[Row]:
    """Return the samples of a row, each with the row's identity."""
    path = samples_path(row_files.row_path(rows_folder, row))
    point = {name: row[name] for name in schema.IDENTITY}
    return [point | line for line in _read_text(path, SAMPLE).to_dict("records")]


def _read_text(path: Path, columns: list[str]) -> pd.DataFrame:
    """Return a file of samples, as text. Raises InputError unless it has these columns."""
    try:
        lines = pd.read_csv(path, dtype="str", keep_default_na=False, compression="gzip")
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; delete its row and run again") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{path}: not readable samples ({error}); measure it again") from error
    if list(lines) != columns:
        names = f"columns are {', '.join(lines)}, expected {', '.join(columns)}"
        raise InputError(f"{path}: {names}; measure it again")
    return lines


def check_folders(folders: Iterable[Path]) -> str:
    """Check folders data/recorded/{gpu}; return one line about them.

    Raises InputError with one line per faulty folder.
    """
    results, faults = [], []
    for folder in folders:
        try:
            results.append(_check_folder(folder))
        except InputError as error:
            faults.append(str(error))
    if faults:
        raise InputError("\n  ".join(["not fit to be recorded:", *faults]))
    return "; ".join(results)


def _check_folder(folder: Path) -> str:
    sweeps, count = _sweeps(folder), 0
    for sweep in sweeps:
        table, samples, provenance_file = (folder / f"{sweep}{suffix}" for suffix in SUFFIXES)
        rows = row_files.read_rows(table)
        if not rows:
            raise InputError(f"{table}: no rows; record the sweep again")
        row_files.refuse_duplicates((row_files.identity_of(row), table) for row in rows)
        _check_gpu(rows, table, folder)
        for name in {row["gpu_name"] for row in rows}:
            if (slug := gpus.slug(name)) != folder.name:
                fault = f"rows of {name!r}, whose short name is {slug!r}; rename the folder"
                raise InputError(f"{folder}: {fault}")
        _check_commits(table, rows)
        _check_provenance(provenance_file, rows, sweep)
        _check_samples(samples, rows)
        count += len(rows)
    return f"{folder}: {len(sweeps)} sweeps, {count} rows, all correct"


def _sweeps(folder: Path) -> list[str]:
    """Return the sweeps of a folder. Raises InputError unless it has exactly their three files."""
    present = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    sweeps = sorted({name.partition(".")[0] for name in present})
    expected = {f"{sweep}{suffix}" for sweep in sweeps for suffix in SUFFIXES}
    if not sweeps:
        raise InputError(f"{folder}: nothing recorded there; `make record` writes such a folder")
    for name in sorted(present ^ expected):
        fault = "not a file of a recorded sweep; remove it"
        fault = "missing; `make record` writes it" if name in expected else fault
        raise InputError(f"{folder / name}: {fault}")
    return sweeps


def _check_commits(path: Path, rows: list[Row]) -> None:
    if dirty := sum(row["git_dirty"] != "false" for row in rows):
        fault = f"{dirty} rows were measured with edited code; commit, and measure them again"
        raise InputError(f"{path}: {fault}")
    for commit in sorted({row["git_commit"] for row in rows}):
        try:
            if not re.fullmatch("[0-9a-f]{40}", commit):
                raise LookupError
            git("cat-file", "-e", f"{commit}^{{commit}}")
        except (LookupError, OSError, subprocess.SubprocessError):
            raise InputError(
                f"{path}: measured at commit {commit!r}, which this checkout does not have; "
                "push it with the rows, or fetch all of the history"
            ) from None


def _check_provenance(path: Path, rows: list[Row], sweep: str) -> None:
    """Check that the file is what `record` writes of the rows, with any command."""
    command, text = read_command(path)
    if text != to_yaml(provenance(rows, sweep, command)):
        raise InputError(f"{path}: not the provenance of its rows; record the sweep again")


def _check_samples(path: Path, rows: list[Row]) -> None:
    """Check that every timed row has its samples, and that their median is its time."""
    lines = _read_text(path, [*schema.IDENTITY, *SAMPLE])
    try:
        lines["time_us"] = lines["time_us"].astype("float64")
    except ValueError as error:
        raise InputError(f"{path}: not numbers ({error}); measure it again") from error
    variant_times = lines[lines["series"] == "variant"].groupby(list(schema.IDENTITY))["time_us"]
    unmatched = variant_times.agg(["size", "median"]).to_dict("index")
    for row in rows:
        identity = tuple(row[name] for name in schema.IDENTITY)
        sample_facts = unmatched.pop(identity, {"size": 0, "median": math.nan})
        size, us = int(row["n_samples"] or 0), float(row["time_us"] or "nan")
        is_near = abs(sample_facts["median"] - us) <= ABSOLUTE_US + RELATIVE * us
        if sample_facts["size"] != size or ((size or row["time_us"]) and not is_near):
            samples_text = f"{sample_facts['size']} samples of median {sample_facts['median']} µs"
            said = f"{' '.join(identity)}: {samples_text}, the row says {size} of {us}"
            raise InputError(f"{path}: {said}; measure it again")
    if unmatched:
        raise InputError(f"{path}: {' '.join(next(iter(unmatched)))}: samples of no row")
