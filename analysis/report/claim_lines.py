"""What the rows say about each published claim: a line for each claim and quantity."""

import math
import os
import re
from pathlib import Path

import pandas as pd

from analysis import markdown as md
from analysis import schema
from analysis.claims.reproduction import NO_DATA, NOT_REPRODUCED, OPEN, PARTLY, REPRODUCED
from analysis.frame import distinct
from analysis.published import Published

# The start of a mark in a reason, after its sentence
NEXT_MARK = re.compile(f"; [{''.join(schema.MARKS)}] ")

# How a claim's quantity begins -> what its number is.
UNITS = {"reduction of time": "less time", "share of sizes": "of the sizes"}
UNITS |= {"smallest speed ratio": "speed ratio", "largest N": "columns"}
UNITS |= {"time without / with the trick": "time without / with it"}


def shown(quantity: str, value: float) -> str:
    """Return the value of a claim's quantity, in percent if it is a share; "" for NaN."""
    if math.isnan(value):
        return ""
    return md.percent(value, 1) if is_share(quantity) else md.number(value, 3)


def is_share(quantity: str) -> bool:
    """Return whether a claim's quantity is a share of something, at most 1."""
    return quantity.startswith(("reduction", "share"))


def articles(
    claims: pd.DataFrame, gpus: list[str], published: Published
) -> tuple[list[dict[str, object]], list[str]]:
    """Return each source with the claims that rows of `gpus` judge, and the others by name.

    `claims`: see `claims.read`. The measured value and the reason are those of the first GPU of
    `gpus` with a verdict, in the element type of the claim's own table, or float32 without one;
    `others` has the verdicts in other types.
    """
    judged: dict[str, list[dict[str, str]]] = {}
    unjudged = []
    for (claim, statement, quantity), part in claims.groupby(
        ["claim", "statement", "quantity"], sort=False
    ):
        is_table = part["origin"] == "published"
        rows = part[~is_table & part["gpu"].isin(gpus) & (part["verdict"] != NO_DATA)]
        if rows.empty:
            unjudged.append(f"{claim} ({quantity})")
            continue
        dtypes = set(distinct(part.loc[is_table, "dtype"])) or {"float32"}
        rows = rows.assign(place=rows["gpu"].map(gpus.index), other=~rows["dtype"].isin(dtypes))
        rows = rows.sort_values(["place", "other"], kind="stable")
        first = rows.iloc[0]
        is_folded = rows["other"] != first["other"]
        measured = shown(quantity, first["value"]) or "no single number"
        measured = "at most " * quantity.startswith("upper bound") + measured
        why = NEXT_MARK.split(first["why"])[0]
        line = {
            "claim": claim,
            "statement": statement,
            "quantity": quantity,
            "published": shown(quantity, first["published_value"]) or "in words",
            "measured": f"{measured} ({_unit(quantity)}{first['gpu']}, {first['dtype']})",
            "outcome": first["verdict"],
            "verdict": _verdicts(rows[~is_folded]),
            "others": _verdicts(rows[is_folded]),
            "why": why[:1].upper() + why[1:],
            "explained": first["explained"],
        }
        judged.setdefault(first["source"], []).append(line)
    urls = {source.id: source.url for source in published.sources.values()}
    order = REPRODUCED, PARTLY, OPEN, NOT_REPRODUCED
    return [
        {
            "source": source,
            "url": urls.get(source.split(":")[0], ""),
            "summary": md.counts((line["outcome"] for line in lines), order),
            "claims": lines,
        }
        for source, lines in judged.items()
    ], unjudged


def _unit(quantity: str) -> str:
    """Return what a claim's number is, such as `speed-up over torch; `, or ""."""
    if speed := re.match(r"speed of \w+ over (\w+)", quantity):
        return f"speed-up over {speed[1].replace('torch_softmax', 'torch')}; "
    return next((f"{unit}; " for start, unit in UNITS.items() if quantity.startswith(start)), "")


def _verdicts(rows: pd.DataFrame) -> str:
    """Return `reproduced on h200 float32/float16; open on h100 float32`."""
    verdicts = []
    for verdict, part in rows.groupby("verdict", sort=False):
        by_gpu = part.groupby("gpu", sort=False)["dtype"]
        places = (f"{gpu} {'/'.join(distinct(dtypes))}" for gpu, dtypes in by_gpu)
        verdicts.append(f"{verdict} on {', '.join(places)}")
    return "; ".join(verdicts)


def document(name: str, folder: Path, root: Path) -> str:
    """Return the address of a document of the project for a page in `folder`.

    In a workflow of GitHub, whose site has only the report, it is that of the repository. Elsewhere
    it is relative to the page.
    """
    server, repository = (os.environ.get(f"GITHUB_{n}", "") for n in ("SERVER_URL", "REPOSITORY"))
    if server and repository:
        return f"{server}/{repository}/blob/HEAD/{name}".removesuffix("/")
    return Path(os.path.relpath(root / name, folder)).as_posix()
