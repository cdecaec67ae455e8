"""The comparison as Markdown: one line first, then every point, worst first; and its files."""

from pathlib import Path

import pandas as pd

from analysis import rows
from analysis.compare import figure, verdict
from analysis.compare.runs import Matched, describe
from analysis.compare.verdict import Limits
from analysis.figures.write import save
from analysis.frame import distinct
from analysis.report import markdown as md
from analysis.schema import POINT

COLUMNS = ["verdict", *POINT, "old µs", "new µs", "ratio", "of times", "code", "note"]


def counts(changes: pd.DataFrame) -> str:
    """Return `1 slower, 4 same of 5 points`: every class that has a point, worst first."""
    return f"{verdict.counts(changes)} of {md.counted(len(changes), 'point')}"


def document(
    changes: pd.DataFrame, matched: Matched, limits: Limits, paths: tuple[Path, Path]
) -> str:
    """Return the whole comparison; `changes` of verdict.judge, `paths` of OLD and NEW."""
    failed = int(verdict.failed(changes, limits).sum())
    outcome = f"{md.counted(failed, 'point')} failed" if failed else "passed"
    settled = changes["verdict"].isin([verdict.SAME, verdict.NEITHER])
    parts = [
        f"**{counts(changes)}: {outcome}.**",
        "\n".join(_about(matched, paths)),
        _method(matched, limits),
    ]
    if not settled.all():
        parts.append(md.table(COLUMNS, _lines(changes[~settled]), "not the same"))
    if settled.any():
        parts.append("The others:\n\n" + md.table(COLUMNS, _lines(changes[settled]), "the same"))
    return "\n\n".join(parts) + "\n"


def write(text: str, changes: pd.DataFrame, limits: Limits, folder: Path) -> None:
    """Write compare.md and the figure to `folder`; the same bytes for the same rows."""
    drawn = figure.draw(changes, limits)
    rows.write(Path(folder) / "compare.md", f"{text}\n![Every point](compare.png)\n")
    save(drawn, Path(folder) / "compare")


def _about(matched: Matched, paths: tuple[Path, Path]) -> list[str]:
    lines = []
    for name, run, path in zip(("OLD", "NEW"), (matched.old, matched.new), paths, strict=True):
        commits = ", ".join(c[:12] for c in distinct(run.rows["git_commit"])) or "unknown"
        dirty = " with changes" if (run.rows["git_dirty"] == "true").any() else ""
        first = min(distinct(run.rows["started_at"]), default="at an unknown time")
        lines.append(f"- {name}: `{path}`, commit {commits}{dirty}, from {first}")
    for run, name in ((matched.old, "OLD"), (matched.new, "NEW")):
        if count := len(run.rows) - len(matched.both):
            lines.append(f"- {md.counted(count, 'point')} in {name} only, not compared")
    if matched.differs:
        lines.append(f"- **not measured alike** (`--allow`): {describe(matched.differs)}")
    if matched.noted:
        lines.append(f"- also differs: {describe(matched.noted)}")
    return lines


def _method(matched: Matched, limits: Limits) -> str:
    used = (
        "each over torch in the same block of the same process, so that a drift of the machine "
        "cancels (torch's version is the same in both). Where torch and the copy both moved by "
        "the same time per call, though one is longer, that is taken off instead, and the note "
        "says so"
        if matched.paired
        else "not over torch, which is no unchanged control here (see above), so a drift of the "
        "machine does not cancel"
    )
    return (
        f"Ratio: old time / new time, {used}. A ratio above 1 is faster. Its 95 % "
        "interval includes how far the controls, which are unchanged, differ between the two "
        f"runs. Same: the interval lies within {_percent(limits.margin)}. Faster, slower: the "
        f"ratio is further off than that, with a false-discovery rate of {_percent(limits.rate)} "
        f"over all points. Failed: broke, or slower by more than {_percent(limits.threshold)}. "
        "Of times: the ratio of the plain times."
    )


def _lines(changes: pd.DataFrame) -> list[list[object]]:
    return [
        [
            row["verdict"],
            *point,
            md.number(row["time_us_old"]),
            md.number(row["time_us_new"]),
            md.with_interval(row["ratio"], row["low"], row["high"]),
            md.number(row["plain"]),
            row["code"],
            row["note"] or _statuses(row),
        ]
        for point, row in changes.iterrows()
    ]


def _statuses(row: pd.Series) -> str:
    old, new = row["status_old"], row["status_new"]
    return f"{old}, then {new}" if old != new else "" if old == "ok" else old


def _percent(share: float) -> str:
    return f"{100 * share:g} %"
