"""Turn the rows of the tuning sweep into the table by which the variant ``frontier`` chooses."""

import io
import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import geometric_mean

import pandas as pd
import yaml

from analysis import atomic, frame, record, rows, schema
from analysis.errors import InputError

SWEEP = "tuning"
OF = "frontier"  # the variant that chooses; those whose names go on from there are chosen from
POINT = ["gpu_name", "dtype", "N"]
COLUMNS = [*POINT, "variant", "speedup", "of_copy", "runner_up", "lead", "points"]


def write(merged: Iterable[Path], output: Path, command: str, keep: bool = False) -> list[Path]:
    """Write {gpu}.csv and {gpu}.yaml to ``output`` for every GPU with rows of the sweep.

    ``merged``: files results/measurements/{gpu}.csv; ``command``: quoted as provenance; ``keep``:
    of the table that is there, what no row now is about stays, and the provenance says so. Returns
    the files written. Raises InputError where no row of the sweep has a time, and where there is
    no table to keep.
    """
    names = (*schema.COLLECTED, *schema.header())
    found = [row for path in merged for row in rows.read_collected(path)]
    table = pd.DataFrame(found, columns=names, dtype="str")
    table = table[(table["sweep"] == SWEEP) & table["variant"].str.startswith(f"{OF}_")]
    timed = frame.typed(table)
    timed = timed[frame.timed(timed)]
    if timed.empty:
        raise InputError(
            f"no timed rows of the sweep {SWEEP!r}; run it on a GPU first: make tuning"
        )
    written = []
    with ExitStack() as stack:
        for gpu, part in timed.groupby("gpu"):
            chosen, about = (Path(output) / f"{gpu}{suffix}" for suffix in (".csv", ".yaml"))
            lines = _as_text(pd.DataFrame(winners(part), columns=COLUMNS))
            facts = record.provenance(table[table["gpu"] == gpu].to_dict("records"), SWEEP, command)
            if keep:
                before, said = _there(chosen, about)
                now, lines = len(lines), _joined(lines, before)
                facts["kept"] = {"lines": len(lines) - now} | said
            lines.to_csv(stack.enter_context(atomic.replacing(chosen)), index=False)
            text = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True)
            stack.enter_context(atomic.replacing(about)).write_text(text, encoding="utf-8")
            written += [chosen, about]
    return written


def _as_text(lines: pd.DataFrame) -> pd.DataFrame:
    text = lines.to_csv(index=False, float_format="%.4g")
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)


def _there(path: Path, about: Path) -> tuple[pd.DataFrame, dict]:
    """The table at ``path`` and what ``about`` says of it. Raises InputError."""
    advice = "measure the whole sweep, and leave --keep out"
    try:
        lines = pd.read_csv(path, dtype=str, keep_default_na=False)
        said = yaml.safe_load(about.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"{error.filename}: no such file, so nothing can be kept; {advice}"
        ) from error
    except (ValueError, yaml.YAMLError) as error:
        raise InputError(f"{path} or {about.name}: not to be read ({error}); {advice}") from error
    if list(lines) != COLUMNS:
        raise InputError(f"{path}: columns are {list(lines)}, expected {COLUMNS}; {advice}")
    if not lines["N"].str.fullmatch("[0-9]+").all():
        raise InputError(f"{path}: not every N is a whole number; {advice}")
    if not isinstance(said, dict):
        raise InputError(f"{about}: says nothing about its table; {advice}")
    return lines, said


def _joined(lines: pd.DataFrame, before: pd.DataFrame) -> pd.DataFrame:
    """``lines``, and those of ``before`` about what no line is about."""
    both = pd.concat([lines, before], ignore_index=True).drop_duplicates(POINT)
    return both.loc[both.assign(N=both["N"].astype(int)).sort_values(POINT).index]


def winners(timed: pd.DataFrame) -> Iterator[tuple]:
    """A line of COLUMNS for every GPU, dtype and N: which variant is fastest over all M.

    Compared are ``speedups``: over torch, which was timed beside each variant in its process. One
    that lacks an M is left out, as the choice must not depend on M.
    """
    for (gpu, dtype, N), part in timed.groupby(POINT):
        found = speedups(part)
        if not found:
            continue
        first, *others = sorted(found, key=found.get, reverse=True)
        of_copy = geometric_mean(part.loc[part["variant"] == first, "of_copy"])
        lead = found[first] / found[others[0]] if others else math.nan
        points = part["M"].nunique()
        yield gpu, dtype, N, first, found[first], of_copy, (others or [""])[0], lead, points


def speedups(part: pd.DataFrame) -> dict[str, float]:
    """Geometric mean over M of each variant's speed-up, of the timed rows of one POINT.

    Without those that lack an M.
    """
    points = part["M"].nunique()
    return {
        variant: geometric_mean(own["speedup"])
        for variant, own in part.groupby("variant")
        if len(own) == points
    }
