"""On what the rows were measured, and how to do it again."""

from collections.abc import Mapping

import pandas as pd

from analysis import schema
from analysis.frame import distinct
from analysis.report.markdown import Block, Code, Prose, Table

FACTS = [
    *("gpu_name", "gpu_uuid", "driver", "cuda", "torch", "triton", *schema.OPTIONAL, "python"),
    *("git_commit", "git_dirty"),
]


def section(measurements: pd.DataFrame) -> list[Block]:
    """One table per GPU: the distinct values of every fact of its rows."""
    if measurements.empty:
        return [Prose("No rows were measured or recorded.")]
    parts: list[Block] = []
    for (origin, gpu), rows in measurements.groupby(["origin", "gpu"], sort=True):
        known = {name: ", ".join(distinct(rows[name])) for name in FACTS}
        lines = [[k, v or "none"] for k, v in known.items() if v or k not in schema.OPTIONAL]
        started = distinct(rows["started_at"])
        lines.append(["started_at", " to ".join(dict.fromkeys(started[:1] + started[-1:]))])
        lines.append(["rows", len(rows)])
        parts += [Prose(f"**{gpu}** ({origin})"), Table(["fact", "value"], lines, gpu)]
    return parts + _stale(measurements[measurements["stale"] == "true"])


def _stale(rows: pd.DataFrame) -> list[Block]:
    """Return one sentence on the rows of other code than the current one, if there are any."""
    if rows.empty:
        return []
    sweeps = ", ".join(sorted(set(rows["sweep"])))
    return [
        Prose(
            f"Other code than the current one measured {len(rows)} of these rows, in the sweeps "
            f"{sweeps}; `results/measurements.csv` marks them in the column `stale`."
        )
    ]


def reproduce(
    measurements: pd.DataFrame, command: str, recorded: Mapping[tuple, str]
) -> list[Block]:
    """The command, and for every table its commit and, if recorded, the command that made it.

    `recorded` maps (gpu, sweep) to that command.
    """
    blocks: list[Block] = [Code(command)]
    for (origin, gpu, sweep), rows in measurements.groupby(["origin", "gpu", "sweep"], sort=True):
        commits = ", ".join(f"`{commit}`" for commit in distinct(rows["git_commit"]))
        dirty = " (with uncommitted changes)" if "true" in set(rows["git_dirty"]) else ""
        text = f"Rows of {gpu}, {sweep} ({origin}): commit {commits or 'unknown'}{dirty}"
        made_by = recorded.get((gpu, sweep)) if origin == "recorded" else None
        blocks.append(Prose(text + (f", made by `{made_by}`." if made_by else ".")))
    return blocks
