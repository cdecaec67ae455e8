"""The published claims as cards: one for each, with what was found where."""

import pandas as pd

from analysis.claims.registry import FAILS, HOLDS, UNDECIDED
from analysis.report import markdown as md

# verdict -> the name of its colour, and a sign that does not need the colour
LOOKS = {HOLDS: ("holds", "✓"), FAILS: ("fails", "✗"), UNDECIDED: ("open", "○")}
WHERE = ("gpu", "dtype", "sweep", "origin")


def cards(claims: pd.DataFrame) -> list[dict[str, object]]:
    """One card per claim and quantity; its findings are split into judged and `undecided`."""
    found = []
    for (claim, quantity), rows in claims.groupby(["claim", "quantity"], sort=False):
        findings = [_finding(row) for row in rows.to_dict("records")]
        first = rows.iloc[0]
        found.append(
            {
                "claim": claim,
                "statement": first["statement"],
                "source": first["source"],
                "quantity": quantity,
                "published": md.number(first["published_value"]),
                "judged": [f for f in findings if f["verdict"] != UNDECIDED],
                "undecided": [f for f in findings if f["verdict"] == UNDECIDED],
            }
        )
    return found


def counts(claims: pd.DataFrame) -> list[dict[str, object]]:
    """How often each verdict came out, published tables and GPUs apart."""
    places = claims["gpu"].where(claims["origin"] != "published", "published tables")
    return [
        {"place": place, "counts": [(v, *LOOKS[v], int((part == v).sum())) for v in LOOKS]}
        for place, part in claims["verdict"].groupby(places, sort=True)
    ]


def _finding(row: dict) -> dict[str, str]:
    look, sign = LOOKS[row["verdict"]]
    return {
        "verdict": row["verdict"],
        "look": look,
        "sign": sign,
        "where": ", ".join(row[name] for name in WHERE if row[name]),
        "value": md.with_interval(row["value"], row["low"], row["high"]),
        "why": row["why"],
    }
