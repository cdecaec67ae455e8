"""The report as a whole: its sections in order, and its file."""

import os
from collections.abc import Collection, Iterable
from pathlib import Path

import pandas as pd
import yaml

from analysis import atomic, flags
from analysis.figures import BARS, KINDS, OVERVIEW
from analysis.figures.select import existing
from analysis.published import Published
from analysis.report import claims as claim_parts
from analysis.report import environment, markdown, oneflow, quality, verdict
from analysis.report.blocks import Block

ORDER = [
    *("Verdict", "Published claims", "OneFlow", "Figures", "Noise floor", "Cold calls", "Flags"),
    *("Points that are not ok", "Accuracy", "Published tables", "Environment", "How to reproduce"),
]


def write(
    measurements: pd.DataFrame,
    summary: pd.DataFrame,
    claims: pd.DataFrame,
    published: Published,
    figures: Path,
    command: str,
    output: Path,
    recorded: Iterable[Path] = (),
    unranked: Collection[str] = flags.UNRANKED,
) -> None:
    """Write the report (Markdown) to `output`.

    `figures` is the folder of figures, linked relative to `output`; only those that exist are
    shown. `command` is the exact command that made the rows; `recorded` are the descriptions
    data/recorded/{gpu}/{sweep}.yaml of the recorded ones; `unranked` are the flags that kept
    rows from ranking when the measurements were collected.
    """
    links = figure_links(measurements, published, Path(figures), Path(output).parent)
    found = sections(measurements, summary, published, command, recorded, unranked)
    texts = {title: markdown.render(blocks) for title, blocks in found.items()}
    # what HTML has as cards and as drawings
    texts["Published claims"] = claim_parts.section(claims)
    texts["Figures"] = links or "No figures were drawn.\n"
    body = "\n".join(f"## {name}\n\n{texts[name]}" for name in ORDER if texts[name])
    atomic.write_text(output, f"# {title(measurements)}\n\n{body}")


def title(measurements: pd.DataFrame) -> str:
    """The title of the report, with the operations that were measured."""
    *others, last = sorted(set(measurements["op"]), key=len) or ["softmax"]
    ops = f"{', '.join(others)} and {last}" if others else last
    return f"Row {ops}: which kernel is fastest"


def sections(
    measurements: pd.DataFrame,
    summary: pd.DataFrame,
    published: Published,
    command: str,
    recorded: Iterable[Path],
    unranked: Collection[str],
) -> dict[str, list[Block]]:
    """Title -> content of the sections that are prose and tables; arguments as of `write`."""
    names = dict(zip(measurements["gpu"], measurements["gpu_name"], strict=True))
    return {
        "Verdict": verdict.section(summary, names),
        "OneFlow": oneflow.section(measurements),
        "Noise floor": quality.noise(measurements),
        "Cold calls": quality.cold(measurements),
        "Flags": quality.flags(measurements, unranked),
        "Points that are not ok": quality.failures(measurements),
        "Accuracy": quality.accuracy(measurements),
        "Published tables": claim_parts.tables(published),
        "Environment": environment.section(measurements),
        "How to reproduce": environment.reproduce(measurements, command, _commands(recorded)),
    }


def _commands(recorded: Iterable[Path]) -> dict[tuple[str, str], str]:
    """(gpu, sweep) -> the command that recorded it."""
    told = {(p.parent.name, p.stem): yaml.safe_load(p.read_text()) for p in map(Path, recorded)}
    return {key: about["command"] for key, about in told.items()}


def figure_links(
    measurements: pd.DataFrame, published: Published, figures: Path, base: Path
) -> str:
    """Markdown images of the PNG files in `figures`, that of all first; relative to `base`."""

    def link(path: Path) -> str:
        return Path(os.path.relpath(path, base)).as_posix()

    page = figures / f"{OVERVIEW}.png"
    text = f"![Fraction of the copy, of all sets]({link(page)})\n\n" if page.is_file() else ""
    sets = existing(measurements, published)
    here = set(measurements["gpu"])
    for gpu, dtype, sweep in sorted(sets, key=lambda found: (found[0] not in here, found)):
        own, tables = (
            rows[(rows[["gpu", "dtype", "sweep"]] == [gpu, dtype, sweep]).all(axis=1)]
            for rows in (measurements, published.rows)
        )
        # a source without torch (S3) has nothing to show in the heat map of speed-ups
        known = own["speedup"].notna().any() or tables["speedup"].notna().any()
        present = [
            (kind, path)
            for kind in KINDS
            if (path := figures / f"{gpu}_{dtype}_{sweep}_{kind}.png").is_file()
            and (known or kind != "speedup")
        ]
        if present:
            origin = ", ".join(sorted(own["origin"].unique())) or "published, not measured here"
            text += f"### {gpu}, {dtype}, {sweep} ({origin})\n\n"
        for kind, path in present:
            what = "published beside measured" if kind in BARS else f"{kind} over N"
            text += f"![{what}, {gpu}, {dtype}, {sweep}]({link(path)})\n\n"
    return text
