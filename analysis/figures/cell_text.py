"""What a cell of the heat map says: a row, or None where none was asked for."""

import math

# Statuses whose word is wider than a cell.
BROKEN = {
    "unsupported": "unsup-\nported",
    "interpreted": "inter-\npreted",
    "incorrect": "incor-\nrect",
    "unavailable": "unavail-\nable",
}
LEAST = 0.0005  # a half-width below it would be 0 in three decimals


def log_speedup(row: dict | None) -> float:
    """log2 of the speed-up; NaN where there is no time that counts."""
    return math.log2(row["speedup"]) if row and row["timed"] else math.nan


def text(row: dict | None) -> str:
    """The speed-up and half of its interval, or why there is none; "" for no row."""
    if row is None:
        return ""
    if not row["timed"]:
        why = _why(row)
        return BROKEN.get(why, why.replace("_", "\n").replace(" ", "\n"))
    if math.isnan(row["speedup"]):
        return "no\ntorch"
    value, half = f"{row['speedup']:.2f}", half_width(row)
    if math.isnan(half):
        return value
    return f"{value}\n±{half:.3f}".replace("±0", "±") if half >= LEAST else f"{value}\n±<.001"


def half_width(row: dict | None) -> float:
    """Of the interval of the speed-up; NaN where there is none."""
    return (row["speedup_high"] - row["speedup_low"]) / 2 if row and row["timed"] else math.nan


def _why(row: dict) -> str:
    """Why a row has no time that counts, in no more words than a cell holds."""
    if row["status"] != "ok":
        return row["status"]
    flags = row["unranked_by"].split()
    if not flags:
        return "no time"
    return flags[0] if len(flags) == 1 else "not ranked"
