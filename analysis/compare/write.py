"""Writing the comparison: Markdown and figure, all of it or nothing."""

from contextlib import ExitStack
from pathlib import Path

import pandas as pd

from analysis import atomic
from analysis.compare import figure
from analysis.compare.verdict import Limits
from analysis.figures.save import save


def write(text: str, found: pd.DataFrame, limits: Limits, folder: Path) -> None:
    """Write compare.md and the figure to `folder`; the same bytes for the same rows.

    Raises InputError when the folder cannot be written.
    """
    drawn = figure.draw(found, limits)
    with ExitStack() as stack:
        document = stack.enter_context(atomic.replacing(Path(folder) / "compare.md"))
        document.write_text(f"{text}\n![Every point](compare.png)\n", encoding="utf-8")
        save(drawn, Path(folder) / "compare", stack)
