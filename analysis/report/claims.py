"""The published claims, and the published tables themselves."""

import pandas as pd

from analysis import palette
from analysis.claims.claim import OPEN
from analysis.published import Published
from analysis.report import markdown as md
from analysis.report.markdown import Block, Prose, Table

COLUMNS = [
    *("claim", "what", "quantity", "where", "value [95 % interval]"),
    *("published", "verdict", "why"),
]


def section(claims: pd.DataFrame) -> str:
    """Return the claims that could be judged, and below them, folded, the others."""
    undecided = claims["verdict"].isin(OPEN)
    judged, open_ = (
        [_line(row) for row in part.to_dict("records")]
        for part in (claims[~undecided], claims[undecided])
    )
    text = (
        "Each claim is first recomputed from its own published table (`published`), then checked "
        "on every GPU with rows. Published tables give no intervals.\n\n"
        + md.table(COLUMNS, judged, "claims")
    )
    if open_:
        rest = md.table([*COLUMNS[:4], "published", "why"], [_short(x) for x in open_], "claims")
        why = f"No data, or inconclusive ({md.counted(len(open_), 'row')})"
        fold = rest if rest.startswith("<details>") else md.folded(why, rest)
        text += "\n\n" + fold
    return text + "\n"


def tables(published: Published) -> list[Block]:
    """Return every published table, N by variant, in the source's unit."""
    parts: list[Block] = []
    for name, source in published.sources.items():
        rows = published.rows[published.rows["table"] == name.removesuffix(".csv")]
        value = "throughput_gbps" if source.unit == "GB/s" else "time_us"
        scale = 1000 if source.unit == "ms" else 1
        variants = sorted(rows["variant"].unique(), key=palette.order)
        wide = rows.pivot(index=["M", "N"], columns="variant", values=value)[variants] / scale
        lines = [
            [*key, *(md.number(v, 6) for v in line)]
            for key, line in zip(wide.index, wide.to_numpy(), strict=True)
        ]
        unit = source.unit.replace("us", "µs")
        text = f"**{source.hardware}**, {unit}, {source.distribution} input: {source.cite()}."
        parts.append(Prose(text))
        parts.append(Table(["M", "N", *variants], lines, name))
    return parts


def _line(row: dict) -> list[str]:
    place = ", ".join(row[name] for name in ("gpu", "dtype", "sweep", "origin") if row[name])
    return [
        row["claim"],
        row["statement"],
        row["quantity"],
        place,
        md.with_interval(row["value"], row["low"], row["high"]),
        md.number(row["published_value"]),
        f"**{row['verdict']}**",
        row["why"],
    ]


def _short(line: list[str]) -> list[str]:
    return [*line[:4], line[5], line[7]]
