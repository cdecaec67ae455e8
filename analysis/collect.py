"""Collect merged rows of this run, and recorded rows of the GPUs that it did not measure."""

from collections.abc import Collection, Iterable
from pathlib import Path

from analysis import expected, rows, schema
from analysis.errors import InputError


def collect(
    merged: Iterable[Path],
    recorded: Iterable[Path],
    output: Path,
    unranked: Collection[str] = schema.UNRANKED,
    expected_file: Path | None = None,
) -> int:
    """Write results/measurements.csv from `merged` files and `recorded` ones.

    The recorded files are {gpu}/{sweep}.csv with the plain columns of a row. Their rows are added
    (origin = recorded, sweep = the file's stem) only when no merged file has that GPU: fresh rows
    always replace recorded ones. `ranked` is false for a row that carries one of the flags
    `unranked`, and `unranked_by` lists these flags. `stale` is true for a row of other code than
    `expected_file` (results/expected.csv) names; without that file, for no row. Sorted by sweep,
    origin and identity. Returns the number of rows. Raises InputError, before anything is written,
    when a file does not pass the reader, a recorded row carries another gpu than its folder, or a
    (sweep, point) comes twice.
    """
    names = (*schema.COLLECTED, *schema.COLUMNS)
    gpu_at, ranked_at, flags_at = (names.index(name) for name in ("gpu", "ranked", "flags"))
    known = expected.read(expected_file) if expected_file else None
    entries = [(row, path) for path in merged for row in rows.read_collected(Path(path))]
    measured_gpus = {row[gpu_at] for row, _ in entries}
    for path in map(Path, recorded):
        fresh = path.parent.name in measured_gpus
        for row in _recorded_rows(path):
            if not fresh:
                entries.append(([path.stem, "recorded", *rows.with_ranking(row)], path))
    for row, _ in entries:
        row[ranked_at : ranked_at + 2] = schema.ranking(row[flags_at], unranked)
        stale = known is not None and expected.is_stale(dict(zip(names, row, strict=True)), known)
        row[names.index("stale")] = str(stale).lower()
    keyed = [((row[0], *rows.point_of(row, names)), path, row) for row, path in entries]
    rows.refuse_duplicates((key, path) for key, path, _ in keyed)
    keyed.sort(key=lambda entry: entry[0])
    rows.write_rows(output, names, (row for _, _, row in keyed))
    return len(keyed)


def _recorded_rows(path: Path) -> list[list[str]]:
    found = rows.read_rows(path)
    gpu_at = schema.COLUMNS.index("gpu")
    for number, row in enumerate(found, start=2):
        if row[gpu_at] != path.parent.name:
            raise InputError(
                f"{path}: line {number} is of gpu {row[gpu_at]}, its folder says "
                f"{path.parent.name}; move the file to recorded/{row[gpu_at]}/"
            )
    return found
