"""Where OneFlow's softmax is faster than torch and than the best Triton kernel, and where not."""

import pandas as pd

from analysis import ratios, summary
from analysis.frame import POINT, timed
from analysis.ratios import Ratio
from analysis.regimes import DISPATCH
from analysis.report import markdown as md
from analysis.report.blocks import Block, Prose, Table

TRITON = "triton_"
COLUMNS = ["N", "M", "over torch", "over the best Triton row", "which is"]


def part(rows: pd.DataFrame) -> list[Block]:
    """A sentence and a table, one line a point, for the rows of one set."""
    lines, over_torch, over_triton = [], [], []
    counted = rows[timed(rows)].sort_values(["N", "M"])
    for _, point in counted.groupby(POINT, sort=False):
        by_name = {row["variant"]: row for row in point.to_dict("records")}
        if DISPATCH not in by_name:
            continue
        own = by_name[DISPATCH]
        torch = ratios.over_torch(own)
        over_torch.append(torch)
        line = [own["N"], own["M"], _interval(torch), "", ""]
        if others := [row for name, row in by_name.items() if name.startswith(TRITON)]:
            best = others[summary.order(others)[0]]
            ratio = ratios.speed_ratio(own, best)
            over_triton.append(ratio)
            line[3:] = _interval(ratio), best["variant"]
        lines.append(line)
    text = f"`{DISPATCH}` against torch: {_counts(over_torch)}"
    if over_triton:
        text += f"; against the best Triton row: {_counts(over_triton)}"
    width = len(COLUMNS) if over_triton else COLUMNS.index("over torch") + 1
    return [Prose(f"{text}."), Table(COLUMNS[:width], [line[:width] for line in lines], "points")]


def _counts(found: list[Ratio]) -> str:
    sides = [ratio.side() for ratio in found]
    return (
        f"faster at {sides.count('above')}, slower at {sides.count('below')}, no sure difference "
        f"at {sides.count('unclear')} of {md.counted(len(found), 'point')}"
    )


def _interval(ratio: Ratio) -> str:
    return md.with_interval(ratio.value, ratio.low, ratio.high)
