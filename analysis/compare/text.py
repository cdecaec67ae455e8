"""Write a comparison as Markdown."""

from pathlib import Path

import pandas as pd

from analysis import markdown as md
from analysis.compare.judgement import (
    NEITHER,
    POINT,
    SAME,
    Comparison,
    Limits,
    counts,
    describe,
    verdict,
)
from analysis.frame import distinct, is_baseline, legend, mark

COLUMNS = ["change", *POINT, "old µs", "new µs", "ratio", "of times", "code", "note"]


def to_markdown(comparison: Comparison, limits: Limits, paths: tuple[Path, Path]) -> str:
    """Return the comparison as Markdown; `paths`: OLD and NEW."""
    changes = comparison.changes
    _, outcome = verdict(comparison)
    settled = changes["change"].isin([SAME, NEITHER])
    parts = [
        f"**{counts(changes)}: {outcome}.**",
        "\n".join(_about(comparison, paths)),
        _method(comparison.paired, limits),
    ]
    if not settled.all():
        parts.append(md.table(COLUMNS, _lines(changes[~settled]), "not the same"))
    if settled.any():
        parts.append("The others:\n\n" + md.table(COLUMNS, _lines(changes[settled]), "the same"))
    parts += [f"{line}." for line in legend(changes["flags"])]
    return "\n\n".join(parts) + "\n"


def _about(comparison: Comparison, paths: tuple[Path, Path]) -> list[str]:
    lines = []
    for name, run, path in zip(("OLD", "NEW"), comparison[:2], paths, strict=True):
        commits = md.text(", ".join(c[:12] for c in distinct(run["git_commit"])) or "unknown")
        dirty = " with changes" if (run["git_dirty"] == "true").any() else ""
        started = md.text(run["started_at"].min())
        points = run if not comparison.paired else run[~is_baseline(run)]  # torch is the control
        not_shared = len(points.drop_duplicates(POINT)) - len(comparison.changes)
        text = f"; {md.counted(not_shared, 'point')} in it only, not compared" if not_shared else ""
        lines.append(f"- {name}: `{path}`, commit {commits}{dirty}, from {started}{text}")
    if comparison.differences:
        differences = md.text(describe(comparison.differences))
        lines.append(f"- **not measured alike** (`--allow`): {differences}")
    return lines


def _method(paired: bool, limits: Limits) -> str:
    margin, threshold, rate = (f"{100 * share:g} %" for share in limits)
    divisor = (
        "torch, timed in the same process (its version is the same in both)"
        if paired
        else "the copy, because torch is no unchanged control here (see above)"
    )
    return (
        f"Ratio: old time / new time, each over {divisor}. A ratio above 1 is faster. Its 95 % "
        "interval includes the spread between processes. Same: the ratio is within "
        f"{margin}. Faster, slower: it is beyond {margin}. Each at a false-discovery rate of "
        f"{rate} over all points. Failed: broke, or slower by more than {threshold}. Of times: "
        "the ratio of the plain times."
    )


def _lines(changes: pd.DataFrame) -> list[list[object]]:
    lines = []
    for point, row in changes.iterrows():
        old, new = row["status_old"], row["status_new"]
        statuses = f"{old}, then {new}" if old != new else old.removeprefix("ok")
        lines.append(
            [
                *(row["change"], *point[:-1], point[-1] + mark(row["flags"])),
                *(md.number(row["time_us_old"]), md.number(row["time_us_new"])),
                md.with_interval(row["ratio"], row["low"], row["high"]),
                *(md.number(row["plain"]), row["code"], md.text(row["note"] or statuses)),
            ]
        )
    return lines
