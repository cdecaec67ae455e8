"""What the rows say about each published claim: a line for each claim and quantity."""

import math
import os
import re
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from analysis import markdown as md
from analysis import schema
from analysis.claims.reproduction import NO_DATA, NOT_REPRODUCED, OPEN, PARTLY, REPRODUCED
from analysis.frame import distinct
from analysis.published import Published


class Line(NamedTuple):
    """A claim beside its verdicts: `reproduced on h100 float32; open on h200 float32`.

    `outcome`: the verdict on the measured value.
    `explained`: the anchor of its paragraph in docs/explanation/why_kernels_differ.md.
    """

    claim: str
    statement: str
    source: str
    quantity: str
    published: str
    measured: str
    outcome: str
    verdict: str
    why: str
    explained: str


def shown(quantity: str, value: float) -> str:
    """Return the value of a claim's quantity, in percent if it is a share; "" for NaN."""
    if math.isnan(value):
        return ""
    return md.percent(value, 1) if is_share(quantity) else md.number(value, 3)


def is_share(quantity: str) -> bool:
    """Return whether a claim's quantity is a share of something, at most 1."""
    return quantity.startswith(("reduction", "share"))


def lines(claims: pd.DataFrame, gpus: list[str]) -> tuple[list[Line], list[str]]:
    """Return the claims that rows of `gpus` judge, and the others by name.

    `claims`: see `claims.read`. The measured value and the reason are those of the first GPU of
    `gpus` with a verdict, in the element type of the claim's own table, or float32 without one.
    """
    judged, unjudged = [], []
    for (claim, statement, quantity), part in claims.groupby(
        ["claim", "statement", "quantity"], sort=False
    ):
        is_table = part["origin"] == "published"
        table, rows = part[is_table], part[~is_table]
        own = rows[rows["gpu"].isin(gpus) & (rows["verdict"] != NO_DATA)]
        if own.empty:
            unjudged.append(f"{claim} ({quantity})")
            continue
        place = own["gpu"].map(gpus.index)
        dtypes = set(table["dtype"].dropna()) or {"float32"}
        own = own.assign(other_dtype=~own["dtype"].isin(dtypes), place=place)
        first = own.sort_values(["place", "other_dtype"], kind="stable").iloc[0]
        published = shown(quantity, first["published_value"])
        measured = shown(quantity, first["value"]) or "no single number"
        measured = "at most " * quantity.startswith("upper bound") + measured
        judged.append(
            Line(
                claim,
                statement,
                first["source"],
                quantity,
                published or "in words",
                f"{measured} ({first['gpu']}, {first['dtype']})",
                first["verdict"],
                _verdicts(own),
                _sentence(re.split(f"; [{''.join(schema.MARKS)}] ", first["why"])[0]),
                first["explained"],
            )
        )
    return judged, unjudged


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


class Article(NamedTuple):
    """A source of claims, its address if one is known, and its claims."""

    source: str
    url: str
    claims: list[Line]

    @property
    def summary(self) -> str:
        """How often each verdict occurs: `5 reproduced, 2 partly`."""
        outcomes = [line.outcome for line in self.claims]
        return md.counts(outcomes, (REPRODUCED, PARTLY, OPEN, NOT_REPRODUCED))


def articles(judged: list[Line], published: Published) -> list[Article]:
    """Return the claims by source."""
    by_source: dict[str, list[Line]] = {}
    for line in judged:
        by_source.setdefault(line.source, []).append(line)
    urls = {source.id: source.url for source in published.sources.values()}
    return [
        Article(source, urls.get(source.split(":")[0], ""), own)
        for source, own in by_source.items()
    ]


def _verdicts(own: pd.DataFrame) -> str:
    """Return each verdict, and the GPUs and element types that it is about."""
    words = []
    for verdict, part in own.groupby("verdict", sort=False):
        where = [
            f"{gpu} {'/'.join(distinct(rows['dtype']))}"
            for gpu, rows in part.groupby("gpu", sort=False)
        ]
        words.append(f"{verdict} on {', '.join(where)}")
    return "; ".join(words)


def document(name: str, folder: Path, root: Path) -> str:
    """Return the address of a document of the project for a page in `folder`.

    In a workflow of GitHub, whose site has only the report, it is that of the repository. Elsewhere
    it is relative to the page.
    """
    server, repository = (os.environ.get(f"GITHUB_{n}", "") for n in ("SERVER_URL", "REPOSITORY"))
    if server and repository:
        return f"{server}/{repository}/blob/HEAD/{name}".removesuffix("/")
    return Path(os.path.relpath(root / name, folder)).as_posix()
