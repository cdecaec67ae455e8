"""The published claims, and the published tables themselves."""

import pandas as pd

from analysis import markdown as md
from analysis import palette
from analysis.claims.claim import OPEN
from analysis.markdown import Block, Prose, Table
from analysis.published import Published

COLUMNS = ["claim", "what", "quantity", "where", "published", "verdict", "value [95 %]", "why"]


def section(claims: pd.DataFrame) -> str:
    """Return the claims that could be judged, and below them the others, folded."""
    open_ = claims["verdict"].isin(OPEN)
    judged, others = (list(map(_line, claims[m].to_dict("records"))) for m in (~open_, open_))
    text = (
        "Each claim is first recomputed from its own published table (`published`), then checked "
        "on every GPU with rows. Published tables give no intervals.\n\n"
        + md.table(COLUMNS, judged, "claims")
    )
    if others:
        rest = md.table(COLUMNS, others, "claims")
        summary = f"No data, or inconclusive ({md.counted(len(others), 'row')})"
        text += "\n\n" + (rest if rest.startswith("<details>") else md.folded(summary, rest))
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
        parts += [Prose(text), Table(["M", "N", *variants], lines, name)]
    return parts


def _line(row: dict) -> list[str]:
    return [
        *(row["claim"], row["statement"], row["quantity"]),
        ", ".join(row[name] for name in ("gpu", "dtype", "sweep", "origin") if row[name]),
        md.number(row["published_value"]),
        f"**{row['verdict']}**",
        md.with_interval(row["value"], row["low"], row["high"]),
        row["why"],
    ]
