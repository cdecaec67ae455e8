"""Merge the cells of one sweep into one file."""

from collections.abc import Iterable
from pathlib import Path

from analysis import expected, rows, schema
from analysis.errors import InputError

NAMED = 20  # paths in a message; what comes after them is counted


def merge_cells(
    paths: Iterable[Path], sweep: str, output: Path, expected_file: Path | None = None
) -> int:
    """Write the rows of the cells `paths` to `output`, sorted by identity; return their number.

    `expected_file`: results/expected.csv, the hashes and settings that every row must have.
    Columns: `sweep`, `origin` = measured, then those of a row, with the digits of the cell. The
    order of `paths` does not matter. Plain csv rather than pandas: 10,000 one-row files take
    seconds. Raises InputError before anything is written: for rows or
    samples that are broken (see rows.read_cell and rows.check_samples; one error for all of them),
    rows of other code or settings, a duplicate point, no cells at all, and an empty name of the
    sweep.
    """
    if not sweep:
        raise InputError("the name of the sweep is empty; give --sweep a name")
    names = schema.COLUMNS
    known = expected.read(expected_file) if expected_file else None
    keyed, broken = [], {}
    for path in map(Path, paths):
        try:
            row = rows.read_cell(path)
            rows.check_samples(path)
            if known is not None:
                _check_code(path, dict(zip(names, row, strict=True)), known)
        except InputError as error:
            broken[path] = error
        else:
            keyed.append((rows.point_of(row, names), path, row))
    if broken:
        raise InputError(_message(broken))
    if not keyed:
        raise InputError("no cells to merge; give at least one cell")
    rows.refuse_duplicates((point, path) for point, path, _ in keyed)
    keyed.sort(key=lambda entry: entry[0])
    lines = ([sweep, "measured", *row] for _, _, row in keyed)
    rows.write_rows(output, (*schema.LEADING, *names), lines)
    return len(keyed)


def _check_code(path: Path, row: dict[str, str], known: expected.Expected) -> None:
    """Raise InputError unless the current code and settings would give this row."""
    if names := expected.differing(row, known):
        raise InputError(
            f"{path}: other code or settings than the current ones measured this row "
            f"({', '.join(names)} differ); delete it and run again, or check out its commit "
            f"{row['git_commit'] or '(unknown)'}"
        )


def _message(broken: dict[Path, InputError]) -> str:
    """Return the first error, and the other broken files, for a person to delete them at once."""
    (_, first), *others = broken.items()
    if not others:
        return str(first)
    named = " ".join(str(path) for path, _ in others[:NAMED])
    more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
    return f"{first}. Refused as well: {named}{more}"
