"""From the table's lines to what a tool is worth: between processes, against CUPTI, in seconds."""

from pathlib import Path

import numpy as np
import pandas as pd

from .table import COLUMNS
from .tools import ARBITER, LABELS

POINT = ["variant", "M", "N"]
# Bands of kernel time in µs: [low, high)
BANDS = {"below 10 µs": (0, 10), "10 to 100 µs": (10, 100), "above 100 µs": (100, np.inf)}


def load(data: Path) -> pd.DataFrame:
    """The table with its types: numbers float64 with NaN where empty, ``error`` text."""
    lines = pd.read_csv(data, dtype={"error": "str"})
    strangers = set(COLUMNS) ^ set(lines.columns)
    if strangers:
        raise ValueError(f"{data}: not the columns of a side-by-side table: {sorted(strangers)}")
    lines["error"] = lines["error"].fillna("")
    return lines


def per_point(lines: pd.DataFrame) -> pd.DataFrame:
    """One line per tool and point.

    ``time_us``: median over processes; ``between``: (max - min) / median of them, NaN for one
    process; ``within``: (high - low) / time, median over processes; ``ratio``: time_us over
    ``kernel_us``, the arbiter's time of the point; ``cost_s``: median; ``failed``, ``processes``:
    how many.
    """
    lines = lines.assign(
        within=(lines["high"] - lines["low"]) / lines["time_us"], failed=lines["error"] != ""
    )
    found = lines.groupby(["harness", *POINT]).agg(
        time_us=("time_us", "median"),
        least=("time_us", "min"),
        most=("time_us", "max"),
        timed=("time_us", "count"),
        within=("within", "median"),
        cost_s=("cost_s", "median"),
        failed=("failed", "sum"),
        processes=("process", "nunique"),
    )
    spread = (found["most"] - found["least"]) / found["time_us"]
    found["between"] = spread.where(found["timed"] > 1)
    found = found.reset_index().drop(columns=["least", "most", "timed"])
    kernel = found[found["harness"] == ARBITER].set_index(POINT)["time_us"]
    found = found.join(kernel.rename("kernel_us"), on=POINT)
    return found.assign(ratio=found["time_us"] / found["kernel_us"])


def markdown(lines: pd.DataFrame) -> str:
    """The table per band of kernel time and tool; points that CUPTI did not time are named."""
    points = per_point(lines)
    parts = [_band(points, name, *ends) for name, ends in BANDS.items()]
    unknown = points[points["kernel_us"].isna()][POINT].drop_duplicates()
    if len(unknown):
        names = ", ".join(f"{p.variant} {p.M}x{p.N}" for p in unknown.itertuples())
        parts.append(f"Not timed by CUPTI, so in no band: {names}.")
    return "\n\n".join(part for part in parts if part)


def _band(points: pd.DataFrame, name: str, low: float, high: float) -> str:
    inside = points[(points["kernel_us"] >= low) & (points["kernel_us"] < high)]
    if inside.empty:
        return ""
    shapes = len(inside[POINT].drop_duplicates())
    header = (
        f"**Kernels {name}** ({shapes} points)\n\n"
        "| tool | between processes, median | worst | within a process | time / CUPTI, median "
        "| from … to | s per point | failed |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n"
    )
    here = {tool: inside[inside["harness"] == tool] for tool in LABELS}
    return header + "\n".join(_line(tool, part) for tool, part in here.items() if len(part))


def _line(tool: str, part: pd.DataFrame) -> str:
    between, ratio = part["between"], part["ratio"]
    cells = [
        LABELS[tool],
        _percent(between.median()),
        _percent(between.max()),
        _percent(part["within"].median()),
        _number(ratio.median(), "{:.3f}"),
        _number(ratio.min(), "{:.3f}") + " … " + _number(ratio.max(), "{:.3f}"),
        _number(part["cost_s"].median(), "{:.2f}"),
        f"{part['failed'].sum()} of {part['processes'].sum()}",
    ]
    return f"| {' | '.join(cells)} |"


def _percent(share: float) -> str:
    return _number(100 * share, "{:.2f} %")


def _number(value: float, form: str) -> str:
    return "" if np.isnan(value) else form.format(value)
