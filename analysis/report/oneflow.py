"""OneFlow's softmax: its dispatch, and how it stands against torch and Triton."""

import pandas as pd

from analysis.frame import timed
from analysis.regimes import DISPATCH
from analysis.report import against, regimes

SET = ["origin", "gpu", "sweep", "dtype", "op", "distribution"]


def section(measurements: pd.DataFrame) -> str:
    """One part for every set of rows in which OneFlow's dispatch is timed; "" where in none."""
    parts = []
    for key, rows in measurements.groupby(SET, sort=True):
        if (rows[timed(rows)]["variant"] == DISPATCH).any():
            origin, gpu, sweep, dtype, op, distribution = key
            parts += [
                f"### `{sweep}` on {gpu} ({origin}): {op}, {dtype}, {distribution} input",
                regimes.part(rows),
                against.part(rows),
            ]
    return "\n\n".join(parts) + "\n" if parts else ""
