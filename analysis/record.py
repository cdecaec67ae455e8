"""Record: keep the rows and samples of a GPU for machines that do not have it."""

import csv
import gzip
import io
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import yaml

from analysis import atomic, rows, schema
from analysis.errors import InputError

SAMPLE = ["block", "order", "series", "time_us"]
FACTS = (
    *("commit", "dirty", "gpu_name", "driver", "cuda", "torch", "triton"),
    *(*schema.OPTIONAL, "python"),
)


def record(merged: Path, cells: Path, output: Path, command: str) -> list[Path]:
    """Write {sweep}.csv, {sweep}.samples.csv.gz and {sweep}.yaml to `output` for each sweep.

    `merged` is results/measurements/{gpu}.csv, `cells` the folder of cells whose samples belong
    to it, and `output` data/recorded/{gpu}. The samples get the identity of their row before
    their own columns. Returns the files written; the same input gives the same bytes. Raises
    InputError, before anything is written, when rows are not of the gpu that names the folder or
    a timed row has no samples.
    """
    names = (*schema.COLLECTED, *schema.header())
    found = [dict(zip(names, row, strict=True)) for row in rows.read_collected(merged)]
    strangers = sorted({row["gpu"] for row in found} - {Path(output).name})
    if strangers:
        raise InputError(
            f"{merged} has rows of gpu {strangers[0]}, but --output is the folder of "
            f"{Path(output).name}; give a folder named {strangers[0]}"
        )
    if Path(output).name == "cpu":
        raise InputError("rows of a CPU are not recorded: every machine measures its own")
    if not found:
        raise InputError(f"{merged} has no rows to record; give a file with rows")
    written = []
    with ExitStack() as stack:
        for sweep in sorted({row["sweep"] for row in found}):
            part = [row for row in found if row["sweep"] == sweep]
            table, samples, about = (
                Path(output) / f"{sweep}{suffix}" for suffix in (".csv", ".samples.csv.gz", ".yaml")
            )
            rows.write_rows(
                stack.enter_context(atomic.replacing(table)),
                schema.header(),
                ([row[name] for name in schema.header()] for row in part),
            )
            _write_samples(stack.enter_context(atomic.replacing(samples)), part, Path(cells))
            text = yaml.safe_dump(
                provenance(part, sweep, command), sort_keys=False, allow_unicode=True
            )
            stack.enter_context(atomic.replacing(about)).write_text(text, encoding="utf-8")
            written += [table, samples, about]
    return written


def provenance(part: list[dict[str, str]], sweep: str, command: str) -> dict:
    """What the rows say about where they come from; a fact with several values is a list."""
    started = sorted(row["started_at"] for row in part)
    facts = {"title": f"{sweep} on {part[0]['gpu_name']}", "recorded": started[-1][:10]}
    facts["command"] = command
    columns = {"commit": "git_commit", "dirty": "git_dirty"}
    for fact in FACTS:
        absent = {""} if fact in schema.OPTIONAL else set()
        values = sorted({row[columns.get(fact, fact)] for row in part} - absent)
        if values:
            facts[fact] = values[0] if len(values) == 1 else values
    return facts | {
        "started_at": {"first": started[0], "last": started[-1]},
        "rows": len(part),
        "rows_by_status": dict(sorted(Counter(row["status"] for row in part).items())),
    }


def _write_samples(target: Path, part: list[dict[str, str]], cells: Path) -> None:
    # No name and no time in the gzip header: the same samples give the same bytes.
    with (
        target.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*schema.POINT, *SAMPLE])
        for row in part:
            point = [row[name] for name in schema.POINT]
            writer.writerows([*point, *sample] for sample in _samples(row, cells))


def _samples(row: dict[str, str], cells: Path) -> Iterator[list[str]]:
    cell = rows.cell_path(cells, [row[name] for name in schema.POINT])
    path = rows.samples_path(cell)
    if not path.is_file():
        if row["time_us"]:
            raise InputError(
                f"{path}: no such file, but the row has times; delete the row and run again"
            )
        return
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            header, *samples = csv.reader(file)
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path}: not readable samples ({error}); measure it again") from error
    if header != SAMPLE:
        raise InputError(f"{path}: columns are {header}, expected {SAMPLE}; measure it again")
    yield from samples
