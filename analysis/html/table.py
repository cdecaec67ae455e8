"""Rows as JSON that a browser reads fast: column by column, repeated words only once."""

import math

import pandas as pd

# What the page shows, sorts, searches and draws; everything else is in results/measurements.csv.
COLUMNS = [
    *("gpu", "origin", "sweep", "op", "dtype", "distribution", "M", "N", "variant"),
    *("status", "unranked_by", "flags", "message", "time_us", "time_us_q20", "time_us_q80"),
    *("speedup", "speedup_low", "speedup_high", "of_copy", "throughput_gbps", "rank"),
]


def columns(rows: pd.DataFrame) -> dict[str, object]:
    """Column -> its values, None where not applicable; of text, `words` and their `codes`."""
    return {name: _column(rows[name]) for name in COLUMNS}


def ranked(measurements: pd.DataFrame, summary: pd.DataFrame) -> pd.DataFrame:
    """The rows in the order of `measurements`, with their `rank` of the summary."""
    point = ["sweep", "origin", "gpu", "op", "dtype", "distribution", "M", "N", "variant"]
    return measurements.merge(summary[[*point, "rank"]], on=point, how="left", validate="1:1")


def _column(values: pd.Series) -> object:
    if pd.api.types.is_numeric_dtype(values):
        return [None if math.isnan(value) else value for value in values.tolist()]
    codes, words = pd.factorize(values)
    return {"words": words.tolist(), "codes": codes.tolist()}
