"""The words around a figure: its heading, and the fine print that says where numbers come from."""

import pandas as pd

from analysis import schema
from analysis.figures import controls
from analysis.figures.page import Page
from analysis.figures.select import Selection
from analysis.frame import distinct, outcomes

VERSIONS = ("driver", "cuda", "torch", "triton", *schema.OPTIONAL)


def heading(selection: Selection, what: str) -> str:
    """Title of the figure; says when nothing in it was measured here."""
    rows = selection.own if len(selection.own) else selection.published
    name = rows["gpu_name"].iloc[0].split(" (")[0]
    ops = "/".join(sorted(rows["op"].unique()))
    text = f"Row {ops} on {name}, {selection.dtype}, {selection.sweep}: {what}"
    return text if len(selection.own) else f"{text}\npublished, not measured here"


def fine_print(selection: Selection, shown: int = 1, total: int = 1, *notes: str) -> list[str]:
    """Where the numbers come from, what is drawn how (`notes`), and what is not drawn."""
    lines = []
    own = selection.own
    if len(own):
        lines.append(f"{origin(own)}, {selection.dtype}, M = {_range(own['M'])}, {versions(own)}")
        found = outcomes(own)
        if left_out := counts(found[found != "ok"]):
            lines.append(f"rows without a time that counts: {left_out}")
    for source in selection.sources:
        lines.append(f"published, not measured here ({source.hardware}): {source.cite()}")
    if shown < total:
        lines.append(f"{shown} of {total} panels are shown, evenly chosen")
    return [*lines, *controls.note(own), *notes]


def origin(own: pd.DataFrame) -> str:
    """`recorded on NVIDIA H200`."""
    return f"{'/'.join(distinct(own['origin']))} on {'/'.join(distinct(own['gpu_name']))}"


def versions(own: pd.DataFrame) -> str:
    """Versions of what the rows were measured with, and the day."""
    known = [(name, "/".join(distinct(own[name]))) for name in VERSIONS]
    days = distinct(own["started_at"].str.slice(0, 10))
    return ", ".join([*(f"{name} {version}" for name, version in known if version), *days])


def nothing_timed(page: Page, rows: pd.DataFrame) -> None:
    """Say in the middle of a figure that shows none of `rows` why it is empty."""
    text = f"no timed rows: {counts(outcomes(rows))}" if len(rows) else "no rows"
    page.figure.text(0.5, 0.5, text, ha="center", va="center", fontsize=8, color="0.35")


def counts(values: pd.Series) -> str:
    """`3 timeout, 1 unsupported`."""
    found = values.value_counts().sort_index()
    return ", ".join(f"{count} {value}" for value, count in found.items())


def _range(values: pd.Series) -> str:
    low, high = values.min(), values.max()
    return str(low) if low == high else f"{low} to {high}"
