"""Turn the rows of the tuning sweep into the table by which the variant `frontier` chooses."""

import io
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from analysis import InputError, frame, recorded, row_files, stats
from analysis.merge import mark_ranked

SWEEP = "tuning"
DISPATCH = "frontier"  # chooses among the variants whose names continue its name
KEY = ["gpu_name", "dtype", "N"]
COLUMNS = [*KEY, "variant", "speedup", "of_copy", "runner_up", "lead", "points"]


def write(merged: Iterable[Path], output: Path, command: str) -> list[Path]:
    """Write {gpu}.csv and {gpu}.yaml to `output` for every GPU with rows of the sweep.

    The .yaml has the provenance of the rows, with `command`. Lines of the present table for other
    sizes stay. Returns the files written. Raises InputError when no row is timed, and when the
    present table is broken.
    """
    measured = [
        row
        for path in merged
        for row in row_files.read_rows(path, None)
        if row["sweep"] == SWEEP and row["variant"].startswith(f"{DISPATCH}_")
    ]
    points = stats.point_estimates(frame.from_rows(mark_ranked(measured)))
    points = points[frame.is_ranked(points)]
    if points.empty:
        raise InputError(
            f"no timed rows of the sweep {SWEEP!r}; run it on a GPU first: make tuning"
        )
    contents = {}
    for gpu, part in points.groupby("gpu"):
        table, about = (output / f"{gpu}{suffix}" for suffix in (".csv", ".yaml"))
        before, provenance = _present(table, about)
        present = before.set_index(KEY)["variant"].to_dict()
        new = pd.DataFrame(winners(part, present), columns=COLUMNS)
        new = _as_text(io.StringIO(new.to_csv(index=False, float_format="%.4g")))
        lines = pd.concat([new, before]).drop_duplicates(KEY).sort_values(KEY)
        facts = recorded.provenance([row for row in measured if row["gpu"] == gpu], SWEEP, command)
        if kept := len(lines) - len(new):
            facts["kept"] = {"lines": kept} | provenance
        contents |= {table: lines.to_csv(index=False), about: recorded.to_yaml(facts)}
    for path, content in contents.items():
        row_files.write(path, content)
    return list(contents)


def _as_text(table: Path | io.StringIO) -> pd.DataFrame:
    """Return a table with N as a number, by which it is sorted, and all else as it is written."""
    return pd.read_csv(table, dtype=str, keep_default_na=False).astype({"N": "int64"})


def _present(path: Path, about: Path) -> tuple[pd.DataFrame, dict]:
    """Return the table at `path` and its provenance in `about`, both empty without one."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS), {}
    try:
        return _as_text(path)[COLUMNS], dict(yaml.safe_load(about.read_text(encoding="utf-8")))
    except (OSError, LookupError, TypeError, ValueError, yaml.YAMLError) as error:
        raise InputError(f"{path} or {about.name}: broken ({error}); remove both") from error


def winners(points: pd.DataFrame, present: Mapping[tuple, str]) -> Iterator[tuple]:
    """Yield a line of COLUMNS for every KEY.

    `present` maps a KEY to its variant in the present table. This variant stays unless the
    fastest one is significantly faster by more than stats.TIE. `lead` is the speed of the
    chosen variant over the runner-up's. It is below 1 where a slower variant stayed.
    """
    for key, part in points.groupby(KEY):
        speeds = mean_speeds(part)
        order = sorted(speeds, key=lambda variant: -speeds[variant].log)
        if not order:
            continue
        chosen, before = order[0], present.get(key)
        if before in speeds and not _is_significantly_faster(speeds, chosen, before):
            chosen = before
        others = [variant for variant in order if variant != chosen]
        speed, of_copy = speeds[chosen], part.loc[part["variant"] == chosen, "of_copy"]
        lead = speed.over(speeds[others[0]]).value if others else math.nan
        numbers = speed.value, math.exp(np.log(of_copy).mean()), (others or [""])[0], lead
        yield (*key, chosen, *numbers, part["M"].nunique())


def _is_significantly_faster(speeds: Mapping[str, stats.Estimate], fast: str, slow: str) -> bool:
    """Return whether `fast`, the fastest of all, is significantly faster than `slow`."""
    # Times the number of the others, because the data chose the fastest one.
    p = speeds[fast].over(speeds[slow]).p_beyond(math.log1p(stats.TIE))
    return fast != slow and p * (len(speeds) - 1) <= stats.LEVEL


def mean_speeds(part: pd.DataFrame) -> dict[str, stats.Estimate]:
    """Return variant -> geometric mean over M of its speed-up over torch; `part` has one KEY.

    A variant that was not timed at every M is left out, because one choice serves every M.
    """
    points = part["M"].nunique()
    return {
        variant: stats.geometric_mean([stats.estimate(row) for row in own.to_dict("records")])
        for variant, own in part.groupby("variant")
        if own["M"].nunique() == points
    }
