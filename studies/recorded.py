"""Rows that `python -m analysis record` has kept, as a table."""

from pathlib import Path

import pandas as pd

from analysis import frame, rows, schema


def load(path: Path) -> pd.DataFrame:
    """The rows of a recorded CSV file, typed; and ``mb``, read and written. Raises InputError."""
    found = [[path.stem, "recorded", *rows.with_ranking(row)] for row in rows.read_rows(path)]
    names = [*schema.COLLECTED, *schema.COLUMNS]
    table = frame.typed(pd.DataFrame(found, columns=names, dtype="str"))
    itemsize = table["dtype"].map(schema.ITEMSIZE)
    return table.assign(mb=2 * table["M"] * table["N"] * itemsize / 1e6)
