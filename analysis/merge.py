"""Merge: the cells of one sweep become one file."""

from collections.abc import Iterable
from pathlib import Path

from analysis import atomic, rows, schema
from analysis.errors import InputError


def merge_cells(paths: Iterable[Path], sweep: str, output: Path) -> int:
    """Write the rows of the cells `paths` to `output`, sorted by identity; return their number.

    Columns: `sweep` (as given), `origin` = measured, then those of a row, digit for digit as in
    the cell. The result does not depend on the order of `paths`. Plain csv rather than pandas:
    10,000 one-row files take seconds. Raises InputError (see rows.read_cell) before anything is
    written, also on a duplicate point, on no cells at all, and on an empty name of the sweep.
    """
    if not sweep:
        raise InputError("the name of the sweep is empty; give --sweep a name")
    names = schema.header()
    keyed = []
    for path in paths:
        row = rows.read_cell(Path(path))
        keyed.append((rows.point_of(row, names), Path(path), row))
    if not keyed:
        raise InputError("no cells to merge; give at least one cell")
    rows.refuse_duplicates((point, path) for point, path, _ in keyed)
    keyed.sort(key=lambda entry: entry[0])
    with atomic.replacing(output) as temporary:
        rows.write_rows(
            temporary,
            (*schema.LEADING, *names),
            ([sweep, "measured", *row] for _, _, row in keyed),
        )
    return len(keyed)
