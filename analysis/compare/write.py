"""Writing the comparison: Markdown and figure, all of it or nothing."""

from contextlib import ExitStack
from pathlib import Path

import matplotlib
import pandas as pd

from analysis import atomic
from analysis.compare import figure
from analysis.compare.verdict import Limits
from analysis.figures import axes
from analysis.figures.write import METADATA, PNG_DPI


def write(text: str, found: pd.DataFrame, limits: Limits, folder: Path) -> None:
    """Write compare.md, compare.svg and compare.png to `folder`; the same bytes for the same rows.

    Raises InputError when the folder cannot be written.
    """
    drawn = figure.draw(found, limits)
    with ExitStack() as stack:
        document = stack.enter_context(atomic.replacing(Path(folder) / "compare.md"))
        document.write_text(f"{text}\n![Every point](compare.png)\n", encoding="utf-8")
        for suffix, metadata in METADATA.items():
            target = stack.enter_context(atomic.replacing(Path(folder) / f"compare.{suffix}"))
            with matplotlib.rc_context(axes.THEME):
                drawn.savefig(target, format=suffix, metadata=metadata, dpi=PNG_DPI)
