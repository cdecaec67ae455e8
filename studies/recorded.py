"""Rows that `python -m analysis record` has kept, as a table."""

from pathlib import Path

import pandas as pd

from analysis import frame, rows, schema


def load(path: Path) -> pd.DataFrame:
    """The rows of a recorded CSV file, typed. Raises InputError."""
    found = [[path.stem, "recorded", *rows.with_ranked(row)] for row in rows.read_rows(path)]
    names = [*schema.COLLECTED, *schema.header()]
    return frame.typed(pd.DataFrame(found, columns=names, dtype="str"))
