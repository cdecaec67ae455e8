"""The rows of the tuning sweep become the table by which ``kernels/frontier.py`` chooses."""

import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pandas as pd
import yaml

from analysis import atomic, frame, record, rows, schema
from analysis.errors import InputError

SWEEP = "tuning"
OF = "frontier"  # the variant that chooses; those whose names go on from there are chosen from
COLUMNS = ["gpu_name", "dtype", "N", "variant", "speedup", "of_copy", "runner_up", "lead", "points"]


def write(merged: Iterable[Path], output: Path, command: str) -> list[Path]:
    """Write {gpu}.csv and {gpu}.yaml to ``output`` for every GPU with rows of the sweep.

    ``merged``: files results/measurements/{gpu}.csv; ``command``: quoted as provenance. Returns the
    files written. Raises InputError where no row of the sweep has a time.
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
            lines = pd.DataFrame(winners(part), columns=COLUMNS)
            lines.to_csv(
                stack.enter_context(atomic.replacing(chosen)), index=False, float_format="%.4g"
            )
            facts = record.provenance(table[table["gpu"] == gpu].to_dict("records"), SWEEP, command)
            text = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True)
            stack.enter_context(atomic.replacing(about)).write_text(text, encoding="utf-8")
            written += [chosen, about]
    return written


def winners(timed: pd.DataFrame) -> Iterator[tuple]:
    """A line of COLUMNS for every GPU, dtype and N: which variant is fastest over all M.

    Compared are geometric means over M of the speed-up over torch, which was timed beside each
    variant in its process. One that lacks an M is left out: the choice must not depend on M.
    """
    for (gpu, dtype, N), part in timed.groupby(["gpu_name", "dtype", "N"]):
        points = part["M"].nunique()
        means = {
            variant: _mean(own["speedup"])
            for variant, own in part.groupby("variant")
            if len(own) == points
        }
        if not means:
            continue
        first, *others = sorted(means, key=means.get, reverse=True)
        of_copy = _mean(part.loc[part["variant"] == first, "of_copy"])
        lead = means[first] / means[others[0]] if others else math.nan
        yield gpu, dtype, N, first, means[first], of_copy, (others or [""])[0], lead, points


def _mean(values: pd.Series) -> float:
    """Geometric mean."""
    return math.exp(values.map(math.log).mean())
