"""The report as a whole: its sections in order, and its file."""

import os
from collections.abc import Collection, Iterable
from pathlib import Path

import pandas as pd
import yaml

from analysis import atomic, flags
from analysis.figures import BARS, KINDS
from analysis.figures.select import existing
from analysis.published import Published
from analysis.report import claims as claim_parts
from analysis.report import environment, oneflow, quality, verdict


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
    results/recorded/{gpu}/{sweep}.yaml of the recorded ones; `unranked` are the flags that kept
    rows from ranking when the measurements were collected.
    """
    names = dict(zip(measurements["gpu"], measurements["gpu_name"], strict=True))
    links = figure_links(measurements, published, Path(figures), Path(output).parent)
    sections = {
        "Verdict": verdict.section(summary, names),
        "Published claims": claim_parts.section(claims),
        "OneFlow": oneflow.section(measurements),
        "Figures": links or "No figures were drawn.\n",
        "Noise floor": quality.noise(measurements),
        "Cold calls": quality.cold(measurements),
        "Flags": quality.flags(measurements, unranked),
        "Points that are not ok": quality.failures(measurements),
        "Accuracy": quality.accuracy(measurements),
        "Published tables": claim_parts.tables(published),
        "Environment": environment.section(measurements),
        "How to reproduce": environment.reproduce(measurements, command, _commands(recorded)),
    }
    body = "\n".join(f"## {title}\n\n{text}" for title, text in sections.items() if text)
    ops = " and ".join(sorted(set(measurements["op"]), key=len)) or "softmax"
    atomic.write_text(output, f"# Row {ops}: which kernel is fastest\n\n{body}")


def _commands(recorded: Iterable[Path]) -> dict[tuple[str, str], str]:
    """(gpu, sweep) -> the command that recorded it."""
    told = {(p.parent.name, p.stem): yaml.safe_load(p.read_text()) for p in map(Path, recorded)}
    return {key: about["command"] for key, about in told.items()}


def figure_links(
    measurements: pd.DataFrame, published: Published, figures: Path, base: Path
) -> str:
    """Markdown images of the PNG files in `figures`, by set; paths relative to `base`."""
    text = ""
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
            link = Path(os.path.relpath(path, base)).as_posix()
            what = "published beside measured" if kind in BARS else f"{kind} over N"
            text += f"![{what}, {gpu}, {dtype}, {sweep}]({link})\n\n"
    return text
