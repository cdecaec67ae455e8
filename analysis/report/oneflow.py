"""OneFlow's softmax: its dispatch, and how it stands against torch and Triton."""

import pandas as pd

from analysis.frame import timed
from analysis.regimes import DISPATCH
from analysis.report import against, regimes
from analysis.report.blocks import Block, Heading

SET = ["origin", "gpu", "sweep", "dtype", "op", "distribution"]


def section(measurements: pd.DataFrame) -> list[Block]:
    """One part for every set of rows in which OneFlow's dispatch is timed."""
    parts: list[Block] = []
    for key, rows in measurements.groupby(SET, sort=True):
        if (rows[timed(rows)]["variant"] == DISPATCH).any():
            origin, gpu, sweep, dtype, op, distribution = key
            parts += [
                Heading(f"`{sweep}` on {gpu} ({origin}): {op}, {dtype}, {distribution} input"),
                *regimes.part(rows),
                *against.part(rows),
            ]
    return parts
