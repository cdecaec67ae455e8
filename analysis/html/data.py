"""The data of the page: winners, rows, charts, claims, and the styles of variants."""

import math
import re
from collections.abc import Iterable

import pandas as pd

from analysis import markdown as md
from analysis import palette
from analysis.claims.claim import FAILS, HOLDS, INCONCLUSIVE, NO_DATA, OPEN
from analysis.figures.controls import controls_note
from analysis.frame import mark
from analysis.panels import Panel, Selection, copy_rate, existing, panels, select
from analysis.published import Published
from analysis.ranking import RANK_COLUMNS
from analysis.schema import SWEEP_MATRIX

# The columns that the page shows, sorts, searches and draws; results/measurements.csv has all.
COLUMNS = [
    *["gpu", "origin", "sweep", "op", "dtype", "distribution", "M", "N", "variant"],
    *["status", "unranked_by", "flags", "message", "time_us", "time_us_q20", "time_us_q80"],
    *["speedup", "speedup_low", "speedup_high", "of_copy", "throughput_gbps", "mark", "processes"],
    *RANK_COLUMNS,
]

# verdict -> the name of its colour, and a sign for readers who do not see the colour
SIGNS = {
    **{HOLDS: ("holds", "✓"), FAILS: ("fails", "✗")},
    **{INCONCLUSIVE: ("open", "○"), NO_DATA: ("open", "·")},
}

# Colours of the palette with too little contrast -> their replacement, on white and on dark.
ON_WHITE = {palette.ORANGE: "#9c7218", palette.SKY: "#3c9cd2"}
ON_DARK = {
    palette.BLACK: "#f4f4f4",
    palette.GREY: "#9a9a9a",
    palette.WINE: "#f0e442",  # Okabe and Ito's yellow: a lighter wine would be triton_row's purple
    palette.INDIGO: "#8f86e0",
}

# matplotlib's markers as SVG paths in a square from -1 to 1, as the page draws them.
PATHS = {
    "o": "M-.8,0A.8,.8,0,1,1,.8,0A.8,.8,0,1,1,-.8,0Z",
    "s": "M-.72,-.72H.72V.72H-.72Z",
    "^": "M0,-.9L.9,.75H-.9Z",
    "v": "M0,.9L.9,-.75H-.9Z",
    "<": "M-.9,0L.75,-.9V.9Z",
    ">": "M.9,0L-.75,-.9V.9Z",
    "D": "M0,-1L1,0L0,1L-1,0Z",
    "d": "M0,-1L.6,0L0,1L-.6,0Z",
    "P": "M-.33,-.95H.33V-.33H.95V.33H.33V.95H-.33V.33H-.95V-.33H-.33Z",
    "X": "M-.9,-.5L-.5,-.9L0,-.4L.5,-.9L.9,-.5L.4,0L.9,.5L.5,.9L0,.4L-.5,.9L-.9,.5L-.4,0Z",
    "*": "M0,-1L.28,-.3L1,-.27L.42,.17L.62,.9L0,.45L-.62,.9L-.42,.17L-1,-.27L-.28,-.3Z",
    "h": "M0,-.95L.82,-.48V.48L0,.95L-.82,.48V-.48Z",
    "p": "M0,-.95L.9,-.29L.56,.77H-.56L-.9,-.29Z",
}


def winners(points: pd.DataFrame) -> list[int]:
    """Return the positions of the fastest variants, sorted by origin, GPU and matrix."""
    first = points[points["rank"] == 1]
    return first.sort_values(["origin", "gpu", *SWEEP_MATRIX[3:]]).index.tolist()


def columns(rows: pd.DataFrame) -> dict[str, object]:
    """Return column -> values, None where empty; text as `words` and `codes`, which loads fast."""
    rows = rows.assign(mark=rows["flags"].map(mark))
    return {name: _column(rows[name]) for name in COLUMNS if name in rows}


def _column(values: pd.Series) -> object:
    if pd.api.types.is_numeric_dtype(values):
        return [None if math.isnan(value) else value for value in values.tolist()]
    codes, words = pd.factorize(values)
    return {"words": words.tolist(), "codes": codes.tolist()}


def charts(measurements: pd.DataFrame, published: Published) -> list[dict[str, object]]:
    """Return one chart for each panel of every GPU, dtype and sweep; those with own rows first.

    `measurements`: as of with_controls. `own` and `published` are positions of rows there and in
    the published tables. `copy` is the copy bandwidth as (N, GB/s); a chart of published rows has
    the vendor's memory `peak` instead.
    """
    drawn = []
    for gpu, dtype, sweep in existing(measurements, published):
        selection = select(measurements, published, gpu, dtype, sweep)
        drawn += [_chart(panel, selection, "") for panel in panels(selection)]
    return sorted(drawn, key=_order)


def _order(chart: dict) -> tuple:
    """Return a sort key: own rows first, by GPU, then the default sweep, then float32."""
    label = chart["label"]
    usual = label.startswith("online_softmax:"), ": float32, softmax," in label
    numbers = [part.zfill(12) if part.isdigit() else part for part in re.split(r"(\d+)", label)]
    return (not chart["own"], chart["place"], *(not each for each in usual), numbers)


def _chart(panel: Panel, selection: Selection, few: str) -> dict[str, object]:
    published = panel.rows["origin"] == "published"
    own, tables = panel.rows[~published], panel.rows[published]
    rows = own if len(own) else tables
    peaks = [s.memory_peak_gbps for s in selection.sources if own.empty and s.memory_peak_gbps]
    origins = ", ".join(sorted({*own["origin"], *tables["origin"]}))
    return {
        "place": f"{rows['gpu_name'].iloc[0]} ({origins})",
        "label": f"{selection.sweep}: {selection.dtype}, {panel.title}",
        "note": " ".join([*(f"{line}." for line in controls_note(own)), few]).strip(),
        "own": own["row"].tolist(),
        "published": tables["row"].tolist(),
        "copy": [[int(n), rate] for n, rate in copy_rate(own).items()],
        "peak": peaks[0] if peaks else None,
    }


def claims_view(claims: pd.DataFrame) -> list[dict[str, object]]:
    """Return one card per claim and quantity, with its judged and its undecided findings."""
    cards = []
    for (claim, quantity), rows in claims.groupby(["claim", "quantity"], sort=False):
        findings = [_finding(row) for row in rows.to_dict("records")]
        one = rows.iloc[0]
        cards.append(
            {
                "claim": claim,
                "statement": one["statement"],
                "source": one["source"],
                "quantity": quantity,
                "published": md.number(one["published_value"]),
                "judged": [f for f in findings if f["verdict"] not in OPEN],
                "undecided": [f for f in findings if f["verdict"] in OPEN],
            }
        )
    return cards


def counts(claims: pd.DataFrame) -> list[dict[str, object]]:
    """Return the number of claims with each verdict, for the published tables and for each GPU."""
    places = claims["gpu"].where(claims["origin"] != "published", "published tables")
    return [
        {"place": place, "counts": [(v, *SIGNS[v], int((part == v).sum())) for v in SIGNS]}
        for place, part in claims["verdict"].groupby(places, sort=True)
    ]


def _finding(row: dict) -> dict[str, str]:
    look, sign = SIGNS[row["verdict"]]
    return {
        "verdict": row["verdict"],
        "look": look,
        "sign": sign,
        "where": ", ".join(row[name] for name in ("gpu", "dtype", "sweep", "origin") if row[name]),
        "value": md.with_interval(row["value"], row["low"], row["high"]),
        "why": row["why"],
    }


def variant_styles(variants: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return variant -> `colour` on white, colour on `dark`, and SVG `path` of the marker."""
    styles = palette.styles(variants)
    return {
        variant: {
            "colour": ON_WHITE.get(styles[variant].colour, styles[variant].colour),
            "dark": ON_DARK.get(styles[variant].colour, styles[variant].colour),
            "path": PATHS[styles[variant].marker],
        }
        for variant in sorted(styles, key=palette.order)
    }
