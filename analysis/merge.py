"""Merge the rows of a sweep, and collect those of all GPUs, measured or recorded."""

import re
import sys
from collections.abc import Collection, Iterable
from pathlib import Path

import kernels
from analysis import InputError, row_files, schema
from analysis.row_files import Row
from measure import fingerprint

NAMED = 20  # paths that a message names; of more it gives the number


def merge_rows(paths: Iterable[Path], sweep: str, output: Path) -> int:
    """Write the rows of the files `paths` to `output`, sorted by identity; return their number.

    Values keep the digits of the files. Raises one InputError for all broken files, before it
    writes.
    """
    entries, broken = [], {}
    for path in paths:
        try:
            row = row_files.read_row_file(path)
            row_files.check_samples(path)
        except InputError as error:
            broken[path] = error
        else:
            entries.append((row | {"sweep": sweep, "origin": "measured"}, path))
    if broken:
        (_, first), *further = broken.items()
        named_paths = " ".join(str(path) for path, _ in further[:NAMED])
        more = f" and {len(further) - NAMED} more" if len(further) > NAMED else ""
        raise InputError(
            f"{first}. Refused as well: {named_paths}{more}" if further else str(first)
        )
    merged = _sorted(entries)
    row_files.write(output, row_files.csv_text((*schema.SOURCE_COLUMNS, *schema.COLUMNS), merged))
    return len(merged)


def _sorted(entries: Iterable[tuple[Row, Path]]) -> list[Row]:
    """Return the rows of (row, its file) by sweep and identity; refuse one that comes twice."""
    keyed = [((row["sweep"], *row_files.identity_of(row)), path, row) for row, path in entries]
    row_files.refuse_duplicates((key, path) for key, path, _ in keyed)
    return [row for *_, row in sorted(keyed, key=lambda entry: entry[0])]


def collect(merged: Iterable[Path], recorded: Iterable[Path], output: Path) -> int:
    """Write `collected_rows` to results/measurements.csv; return their number."""
    collected = collected_rows(merged, recorded)
    row_files.write(output, row_files.csv_text((*schema.COLLECTED, *schema.COLUMNS), collected))
    return len(collected)


def collected_rows(merged: Iterable[Path], recorded: Iterable[Path]) -> list[Row]:
    """Return the rows of `merged` and `recorded` files, with the columns of measurements.csv.

    `eligibility.mark_ranked` decides which rows rank. `stale` is true for a recorded row of other
    code than the current one: a measured row lies under the fingerprint of the current code. Rows
    are sorted by sweep and identity. Raises InputError for broken merged rows and for duplicate
    rows. A recorded table that cannot be read is named on standard error and left out: one bad
    table must not stop the report.
    """
    from analysis.eligibility import mark_ranked  # merging itself needs no pandas

    entries = [(row, path) for path in merged for row in row_files.read_rows(path, None)]
    for path in recorded:
        try:
            entries += [(row, path) for row in recorded_rows(path)]
        except InputError as error:
            if not path.exists():
                raise
            print(f"warning: left out: {error}", file=sys.stderr)
    lines = mark_ranked(row for row, _ in entries).to_dict("records")
    for row in lines:
        row["stale"] = str(row["origin"] == "recorded" and bool(changed_hashes(row))).lower()
    return _sorted(zip(lines, (path for _, path in entries), strict=True))


def recorded_rows(path: Path) -> list[Row]:
    """Return the rows of a recorded table, {gpu}/{sweep}.csv, with their origin.

    Raises InputError for a table that is broken or misplaced, or of an unknown schema.
    """
    pattern, allowed = schema.VALUES["sweep"]
    if not re.fullmatch(pattern, path.stem):
        raise InputError(f"{path}: its name is that of its sweep: {allowed}; rename the file")
    leading = {"sweep": path.stem, "origin": "recorded"}
    rows = row_files.read_rows(path)
    for number, row in enumerate(rows, start=2):
        if row["gpu"] != path.parent.name:
            raise InputError(
                f"{path}: line {number} is of gpu {row['gpu']}, its folder says "
                f"{path.parent.name}; move the file to recorded/{row['gpu']}/"
            )
    return [row | leading for row in rows]


def left_out(recorded: Iterable[Path], shown: Collection[tuple[str, str]]) -> list[str]:
    """Return why recorded tables whose (gpu, sweep) are not among those `shown` were left out."""
    reasons = []
    for path in recorded:
        if (path.parent.name, path.stem) not in shown:
            try:
                recorded_rows(path)
            except InputError as error:
                reasons.append(f"left out: {error}")
    return reasons


def changed_hashes(row: Row) -> list[str]:
    """Return the hashes in which a row differs from the current code.

    `variant` or `op` stands for those of one that the project does not have.
    """
    try:
        current = {"kernel_sha256": kernels.kernel_sha256(row["variant"])}
    except KeyError:
        return ["variant"]
    try:
        current["measure_sha256"] = fingerprint.measure_sha256(row["op"])
    except KeyError:
        return ["op"]
    return [name for name, value in current.items() if row[name] != value]
