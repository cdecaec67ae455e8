"""On what the rows were measured, and how to do it again."""

import pandas as pd

from analysis.report import markdown as md

FACTS = ["gpu_name", "driver", "cuda", "torch", "triton", "python", "git_commit", "git_dirty"]


def section(measurements: pd.DataFrame) -> str:
    """One table per GPU: the distinct values of every fact of its rows."""
    if measurements.empty:
        return "No rows were measured or recorded.\n"
    parts = []
    for (origin, gpu), rows in measurements.groupby(["origin", "gpu"], sort=True):
        lines = [[name, ", ".join(distinct(rows[name])) or "none"] for name in FACTS]
        started = distinct(rows["started_at"])
        lines.append(["started_at", " to ".join(dict.fromkeys(started[:1] + started[-1:]))])
        lines.append(["rows", len(rows)])
        parts.append(f"**{gpu}** ({origin})\n\n" + md.table(["fact", "value"], lines, gpu))
    return "\n\n".join(parts) + "\n"


def reproduce(measurements: pd.DataFrame, command: str) -> str:
    """The command, and the commits whose code measured the rows."""
    text = f"```sh\n{command}\n```\n"
    for (origin, gpu), rows in measurements.groupby(["origin", "gpu"], sort=True):
        commits = ", ".join(f"`{commit}`" for commit in distinct(rows["git_commit"]))
        dirty = " (with uncommitted changes)" if "true" in set(rows["git_dirty"]) else ""
        how = f"; commands in `results/recorded/{gpu}/*.yaml`" if origin == "recorded" else ""
        text += f"\nRows of {gpu} ({origin}): commit {commits or 'unknown'}{dirty}{how}.\n"
    return text


def distinct(values: pd.Series) -> list[str]:
    """The different values that are not empty, sorted."""
    return sorted(set(values) - {""})
