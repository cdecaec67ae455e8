"""On what the rows were measured, and how to do it again."""

from collections.abc import Mapping

import pandas as pd

from analysis import schema
from analysis.frame import distinct
from analysis.report import markdown as md

FACTS = [
    *("gpu_name", "driver", "cuda", "torch", "triton", *schema.OPTIONAL, "python"),
    *("git_commit", "git_dirty"),
]


def section(measurements: pd.DataFrame) -> str:
    """One table per GPU: the distinct values of every fact of its rows."""
    if measurements.empty:
        return "No rows were measured or recorded.\n"
    parts = []
    for (origin, gpu), rows in measurements.groupby(["origin", "gpu"], sort=True):
        known = {name: ", ".join(distinct(rows[name])) for name in FACTS}
        lines = [[k, v or "none"] for k, v in known.items() if v or k not in schema.OPTIONAL]
        started = distinct(rows["started_at"])
        lines.append(["started_at", " to ".join(dict.fromkeys(started[:1] + started[-1:]))])
        lines.append(["rows", len(rows)])
        parts.append(f"**{gpu}** ({origin})\n\n" + md.table(["fact", "value"], lines, gpu))
    return "\n\n".join(parts) + "\n"


def reproduce(measurements: pd.DataFrame, command: str, recorded: Mapping[tuple, str]) -> str:
    """The command, and for every table its commit and, if recorded, the command that made it.

    `recorded` maps (gpu, sweep) to that command.
    """
    text = f"```sh\n{command}\n```\n"
    for (origin, gpu, sweep), rows in measurements.groupby(["origin", "gpu", "sweep"], sort=True):
        commits = ", ".join(f"`{commit}`" for commit in distinct(rows["git_commit"]))
        dirty = " (with uncommitted changes)" if "true" in set(rows["git_dirty"]) else ""
        text += f"\nRows of {gpu}, {sweep} ({origin}): commit {commits or 'unknown'}{dirty}"
        made_by = recorded.get((gpu, sweep)) if origin == "recorded" else None
        text += f", made by `{made_by}`.\n" if made_by else ".\n"
    return text
