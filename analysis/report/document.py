"""The report as a whole: its sections in order, and its file."""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml

from analysis import markdown, rows, schema
from analysis.frame import distinct
from analysis.markdown import Block, Code, Prose, Table
from analysis.panels import SET, existing
from analysis.published import Published
from analysis.report import best_sets, quality
from analysis.report import claims as claim_parts

ORDER = [
    *("Ranking", "Published claims", "Figures", "Noise floor", "Cold calls", "Flags"),
    *("Points that are not ok", "Accuracy", "Published tables", "Environment", "How to reproduce"),
]
FACTS = [
    *("gpu_name", "gpu_uuid", "driver", "cuda", "torch", "triton", *schema.OPTIONAL, "python"),
    *("git_commit", "git_dirty"),
]
# The file {set}_{kind}.png of a figure -> its description.
FIGURES = {
    "time": "time over N",
    "throughput": "throughput over N",
    "speedup": "speedup over N",
    "profile": "performance profile",
    "published": "published beside measured",
}


@dataclass(frozen=True)
class Inputs:
    """The inputs of a report.

    `command` is the exact command that made the rows. `recorded` are the files
    data/recorded/{gpu}/{sweep}.yaml of recorded rows. `unranked` are the flags that excluded rows
    from the ranking when the measurements were collected.
    """

    measurements: pd.DataFrame
    summary: pd.DataFrame
    claims: pd.DataFrame
    published: Published
    command: str
    recorded: Iterable[Path] = ()
    unranked: Collection[str] = schema.UNRANKED


def write(inputs: Inputs, figures: Path, output: Path) -> None:
    """Write the report (Markdown) to `output`, with links to the existing files of `figures`."""
    texts = {title: markdown.render(blocks) for title, blocks in sections(inputs).items()}
    # The HTML page has cards and charts in place of these two sections.
    texts["Published claims"] = claim_parts.section(inputs.claims)
    links = figure_links(inputs.measurements, inputs.published, Path(figures), Path(output).parent)
    texts["Figures"] = links or "No figures were drawn.\n"
    body = "\n".join(f"## {name}\n\n{texts[name]}" for name in ORDER if texts[name])
    rows.write(output, f"# {title(inputs.measurements)}\n\n{body}")


def title(measurements: pd.DataFrame) -> str:
    """Return the title of the report, with the operations that were measured."""
    *others, last = sorted(set(measurements["op"]), key=len) or ["softmax"]
    ops = f"{', '.join(others)} and {last}" if others else last
    return f"Row {ops}: which kernel is fastest"


def sections(inputs: Inputs) -> dict[str, list[Block]]:
    """Return title -> content of the sections that are prose and tables."""
    rows = inputs.measurements
    names = dict(zip(rows["gpu"], rows["gpu_name"], strict=True))
    commands = {
        (path.parent.name, path.stem): yaml.safe_load(path.read_text())["command"]
        for path in map(Path, inputs.recorded)
    }
    return {
        "Ranking": [*quality.biased(rows), *best_sets.section(inputs.summary, names)],
        "Noise floor": quality.noise(rows),
        "Cold calls": quality.cold(rows),
        "Flags": quality.flags(rows, inputs.unranked),
        "Points that are not ok": quality.failures(rows),
        "Accuracy": quality.accuracy(rows),
        "Published tables": claim_parts.tables(inputs.published),
        "Environment": environment(rows),
        "How to reproduce": reproduce(rows, inputs.command, commands),
    }


def figure_links(
    measurements: pd.DataFrame, published: Published, figures: Path, base: Path
) -> str:
    """Return Markdown images of the PNG files in `figures`, the overview first."""

    def image(text: str, path: Path) -> str:
        return f"![{text}]({Path(os.path.relpath(path, base)).as_posix()})\n\n"

    page = figures / "hero.png"
    text = image("Fraction of the copy", page) if page.is_file() else ""
    here = set(measurements["gpu"])
    for key in sorted(existing(measurements, published), key=lambda key: (key[0] not in here, key)):
        own, tables = (
            rows[(rows[SET] == list(key)).all(axis=1)] for rows in (measurements, published.rows)
        )
        # A source without torch (S3) has an empty heat map of speed-ups.
        known = own["speedup"].notna().any() or tables["speedup"].notna().any()
        present = {
            what: path
            for kind, what in FIGURES.items()
            if (path := figures / key[0] / f"{'_'.join(key[1:])}_{kind}.png").is_file()
            and (known or kind != "speedup")
        }
        if present:
            origin = ", ".join(sorted(own["origin"].unique())) or "published, not measured here"
            text += f"### {', '.join(key)} ({origin})\n\n"
        for what, path in present.items():
            text += image(f"{what}, {', '.join(key)}", path)
    return text


def environment(measurements: pd.DataFrame) -> list[Block]:
    """Return one table per GPU: the distinct values of every fact of its rows."""
    if measurements.empty:
        return [Prose("No rows were measured or recorded.")]
    parts: list[Block] = []
    for (origin, gpu), part in measurements.groupby(["origin", "gpu"], sort=True):
        known = {name: ", ".join(distinct(part[name])) for name in FACTS}
        lines = [[k, v or "none"] for k, v in known.items() if v or k not in schema.OPTIONAL]
        started = distinct(part["started_at"])
        lines.append(["started_at", " to ".join(dict.fromkeys(started[:1] + started[-1:]))])
        lines.append(["rows", len(part)])
        parts += [Prose(f"**{gpu}** ({origin})"), Table(["fact", "value"], lines, gpu)]
    stale = measurements[measurements["stale"] == "true"]
    if len(stale):
        text = f"Other code than the current one measured {len(stale)} of these rows, in the sweeps"
        text += f" {', '.join(distinct(stale['sweep']))}; `results/measurements.csv` marks them"
        parts.append(Prose(f"{text} `stale`."))
    return parts


def reproduce(
    measurements: pd.DataFrame, command: str, recorded: Mapping[tuple, str]
) -> list[Block]:
    """Return the command, and the commit of every table with its command if it is recorded.

    `recorded` maps (gpu, sweep) to the command of a recorded table.
    """
    blocks: list[Block] = [Code(command)]
    for (origin, gpu, sweep), part in measurements.groupby(["origin", "gpu", "sweep"], sort=True):
        commits = ", ".join(f"`{commit}`" for commit in distinct(part["git_commit"]))
        dirty = " (with uncommitted changes)" if "true" in set(part["git_dirty"]) else ""
        text = f"Rows of {gpu}, {sweep} ({origin}): commit {commits or 'unknown'}{dirty}"
        made_by = recorded.get((gpu, sweep)) if origin == "recorded" else None
        blocks.append(Prose(text + (f", made by `{made_by}`." if made_by else ".")))
    return blocks
