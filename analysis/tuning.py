"""Turn the rows of the tuning sweep into the table by which the variant ``frontier`` chooses."""

import io
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import geometric_mean

import pandas as pd
import yaml

from analysis import frame, record, rows
from analysis.errors import InputError

SWEEP = "tuning"
DISPATCH = "frontier"  # chooses among the variants whose names continue its name
KEY = ["gpu_name", "dtype", "N"]
COLUMNS = [*KEY, "variant", "speedup", "of_copy", "runner_up", "lead", "points"]


def write(merged: Iterable[Path], output: Path, command: str, keep: bool = False) -> list[Path]:
    """Write {gpu}.csv and {gpu}.yaml to ``output`` for every GPU with rows of the sweep.

    ``command``: quoted as provenance; ``keep``: keep the present table's lines for other sizes.
    Returns the files written. Raises InputError without timed rows, or without a table to keep.
    """
    table = [
        row
        for path in merged
        for row in rows.read_collected(path)
        if row["sweep"] == SWEEP and row["variant"].startswith(f"{DISPATCH}_")
    ]
    timed = frame.from_rows(table)
    timed = timed[frame.timed(timed)]
    if timed.empty:
        raise InputError(
            f"no timed rows of the sweep {SWEEP!r}; run it on a GPU first: make tuning"
        )
    contents = {}
    for gpu, part in timed.groupby("gpu"):
        chosen, about = (Path(output) / f"{gpu}{suffix}" for suffix in (".csv", ".yaml"))
        lines = _as_text(pd.DataFrame(winners(part), columns=COLUMNS))
        facts = record.provenance([row for row in table if row["gpu"] == gpu], SWEEP, command)
        if keep:
            before, provenance = _present(chosen, about)
            new, lines = len(lines), _joined(lines, before)
            facts["kept"] = {"lines": len(lines) - new} | provenance
        contents |= {chosen: lines.to_csv(index=False), about: record.to_yaml(facts)}
    for path, content in contents.items():
        rows.write(path, content)
    return list(contents)


def _as_text(lines: pd.DataFrame) -> pd.DataFrame:
    text = lines.to_csv(index=False, float_format="%.4g")
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)


def _present(path: Path, about: Path) -> tuple[pd.DataFrame, dict]:
    """Return the table at ``path`` and its provenance in ``about``. Raises InputError."""
    advice = "measure the whole sweep, and leave --keep out"
    try:
        lines = pd.read_csv(path, dtype=str, keep_default_na=False)
        provenance = yaml.safe_load(about.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        fault = f"{error.filename}: no such file, so nothing can be kept; {advice}"
        raise InputError(fault) from error
    except (ValueError, yaml.YAMLError) as error:
        raise InputError(f"{path} or {about.name}: not readable ({error}); {advice}") from error
    if list(lines) != COLUMNS:
        raise InputError(f"{path}: columns are {list(lines)}, expected {COLUMNS}; {advice}")
    if not lines["N"].str.fullmatch("[0-9]+").all() or not isinstance(provenance, dict):
        raise InputError(f"{path}: an N is no number, or {about.name} no provenance; {advice}")
    return lines, provenance


def _joined(lines: pd.DataFrame, before: pd.DataFrame) -> pd.DataFrame:
    """Return ``lines``, and those of ``before`` with another KEY."""
    both = pd.concat([lines, before], ignore_index=True).drop_duplicates(KEY)
    return both.loc[both.assign(N=both["N"].astype(int)).sort_values(KEY).index]


def winners(timed: pd.DataFrame) -> Iterator[tuple]:
    """Yield a line of COLUMNS for every KEY: the variant with the largest of its `speedups`."""
    for (gpu, dtype, N), part in timed.groupby(KEY):
        values = speedups(part)
        if not values:
            continue
        first, *others = sorted(values, key=values.get, reverse=True)
        of_copy = geometric_mean(part.loc[part["variant"] == first, "of_copy"])
        lead = values[first] / values[others[0]] if others else math.nan
        points = part["M"].nunique()
        yield gpu, dtype, N, first, values[first], of_copy, (others or [""])[0], lead, points


def speedups(part: pd.DataFrame) -> dict[str, float]:
    """Return the geometric mean over M of each variant's speed-up over torch, of one KEY.

    A variant that lacks an M is left out, because the choice must not depend on M.
    """
    points = part["M"].nunique()
    return {
        variant: geometric_mean(own["speedup"])
        for variant, own in part.groupby("variant")
        if own["M"].nunique() == points
    }
