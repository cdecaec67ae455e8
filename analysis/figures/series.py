"""Series of points, and how much faster one is than another at every point."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from analysis import palette, ratios


@dataclass(frozen=True)
class Series:
    """The times of one variant from one origin: `rows` maps (M, N) to the row."""

    variant: str
    style: palette.Style
    origin: str
    where: str
    rows: dict[tuple[int, int], dict]

    def looks(self) -> dict:
        """Measured points are full; published ones are hollow."""
        full = "white" if self.origin == "published" else self.style.colour
        edge = {"markeredgecolor": self.style.colour, "markeredgewidth": 1.0}
        look = {"marker": self.style.marker, "markersize": 5.5, "linestyle": "none"}
        return {**look, **edge, "markerfacecolor": full}


def series_of(rows: pd.DataFrame, styles: Mapping[str, palette.Style]) -> list[Series]:
    """One for each GPU, origin, input and variant of `rows`, all timed and of one operation."""
    found = []
    for (name, origin, input_, variant), part in rows.groupby(
        ["gpu_name", "origin", "distribution", "variant"]
    ):
        note = ", not measured here" if origin == "published" else ""
        where = f"{origin}{note} ({name}, {input_} input)"
        by_point = {(row["M"], row["N"]): row for row in part.to_dict("records")}
        found.append(Series(variant, styles[variant], origin, where, by_point))
    # Within one origin as everywhere else; a stable sort keeps GPU and input together.
    return sorted(found, key=lambda one: (one.where, palette.order(one.variant)))


def compared(series: list[Series], points: list[tuple[int, int]]) -> list[tuple[str, list[str]]]:
    """Lines of a table over `points` (M, N): a name, and a word for each point (none: a heading).

    How many times faster each variant is than the published table's torch or, where it has none,
    than its slowest variant, on the same GPU and input.
    """
    lines = [
        ("N (columns)", [str(n) for _, n in points]),
        ("M (rows)", [str(m) for m, _ in points]),
    ]
    reference = _reference(series)
    found = {(one.variant, one.where): one for one in series}
    for variant in sorted({one.variant for one in series} - {reference}, key=palette.order):
        lines.append((f"speed of {variant} over {reference}:", []))
        for one in (one for one in series if one.variant == variant):
            other = found.get((reference, one.where))
            words = [_ratio(one, other, point) for point in points]
            (gpu,) = {row["gpu"] for row in one.rows.values()}
            lines.append((f"{one.origin}, {gpu}", words))
    return lines


def _reference(series: list[Series]) -> str:
    """The variant that the others are compared with."""
    tables = [one for one in series if one.origin == "published"]
    if ratios.BASELINE in {one.variant for one in tables}:
        return ratios.BASELINE
    slowest = max(tables, key=lambda s: sum(math.log(row["time_us"]) for row in s.rows.values()))
    return slowest.variant


def _ratio(one: Series, other: Series | None, point: tuple[int, int]) -> str:
    if other is None or point not in one.rows or point not in other.rows:
        return "none"
    ratio = ratios.speed_ratio(one.rows[point], other.rows[point])
    text = f"{ratio.value:.2f}x"
    return text if math.isnan(ratio.low) else f"{text} [{ratio.low:.2f}, {ratio.high:.2f}]"
