"""Rows that Snakemake has no record of: copied here, or finished after Snakemake was interrupted.

Snakemake takes such files as up to date, whatever made them, and does not see when their kernel is
edited. A row says itself which code made it, so it can get the record that it lacks.
"""

import csv
import shlex
from collections.abc import Callable
from pathlib import Path

from measure.point import Point
from measure.row import samples_path

LIST = "logs/rows_of_other_code.txt"  # such rows and their samples
NAMED = 3  # kinds of them in the message


def adopt(workflow, rule: str, point_of: Callable[..., Point], results: Path) -> str | None:
    """Let Snakemake have a record of every row of the sweep that need not be measured.

    ``rule``: the name of the points' rule. ``point_of``: from wildcards to the point. ``results``:
    the folder to write LIST into. None, or one message: which rows are of other code
    than this, or of other settings, and what to do.
    """
    strange: dict[Path, Point] = {}
    for job in workflow.dag.jobs:
        if job.rule.name != rule or workflow.dag.needrun(job):
            continue
        if workflow.persistence.has_metadata(job):
            continue
        row = _read(Path(job.output.row))
        if row is None:  # not whole: merging says what is wrong with it
            continue
        point = point_of(job.wildcards)
        wanted = {
            "kernel_sha256": job.params.kernel,
            "measure_sha256": job.params.measure,
            "seed": str(point.seed),
            "rival": point.rival or "",
        }
        if all(row.get(column) == value for column, value in wanted.items()):
            workflow.async_run(workflow.persistence.finished(job))
        else:
            strange[Path(job.output.row)] = point
    return _say(strange, results / LIST) if strange else None


def _read(path: Path) -> dict | None:
    """The row of a cell; None where it is not whole."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            row = next(csv.DictReader(file), None)
    except (OSError, UnicodeDecodeError, csv.Error):
        return None
    return None if row is None or None in row.values() else row


def _say(strange: dict[Path, Point], listed: Path) -> str:
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text("".join(f"{row}\n{samples_path(row)}\n" for row in strange))
    kinds = sorted({f"{point.variant} on {point.gpu}" for point in strange.values()})
    more = f" and {len(kinds) - NAMED} more" if len(kinds) > NAMED else ""
    return (
        f"{len(strange)} rows ({', '.join(kinds[:NAMED])}{more}) came from elsewhere, and were "
        "measured by other code, or with another seed or rival, than this sweep's. Take the commit "
        "that they name in git_commit, or delete them to have them measured here:\n"
        f"  xargs -d '\\n' rm -f < {shlex.quote(str(listed))}"
    )
