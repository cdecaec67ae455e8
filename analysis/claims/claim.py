"""A published claim: its source, its protocol, and the finding that a check of it gives."""

import math
from collections.abc import Callable
from typing import NamedTuple

import pandas as pd

from analysis.stats import Estimate

HOLDS, FAILS, INCONCLUSIVE, NO_DATA = "holds", "does not hold", "inconclusive", "no data"


class Protocol(NamedTuple):
    """The points that a claim is about, all of the operation softmax.

    `shapes` maps N to its M. The first of `distributions` that has rows counts. Rows without one of
    `variants`, those that the source compares with torch, are of another sweep. A claim about the
    sizes needs the `least` number of them. `table`: the source's own, a file of data/published/.
    """

    name: str
    shapes: dict[int, int]
    distributions: tuple[str, ...]
    variants: tuple[str, ...]
    least: int
    table: str

    def select(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return its rows, at most one for each (variant, N) of one gpu, dtype and sweep."""
        fits = (rows["op"] == "softmax") & (rows["M"] == rows["N"].map(self.shapes))
        for distribution in self.distributions:
            chosen = rows[fits & (rows["distribution"] == distribution)]
            if chosen["variant"].isin(self.variants).any():
                return chosen
        return rows.iloc[:0]

    def __str__(self) -> str:
        rows = sorted(set(self.shapes.values()))
        m = f"M = {rows[0]}" if len(rows) == 1 else f"M = {rows[0]} to {rows[-1]}"
        return f"protocol {self.name} ({m}, {' or '.join(self.distributions)} input)"


class Finding(NamedTuple):
    """The verdict on a claim in some rows, the reason, the value of its quantity, its interval."""

    verdict: str
    why: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @classmethod
    def of(cls, verdict: str, ratio: Estimate, why: str) -> "Finding":
        """Return a finding whose quantity is `ratio`."""
        return cls(verdict, why, ratio.value, *ratio.interval)


class Claim(NamedTuple):
    """One checkable quantity of a claim of the literature, an entry of claims.yaml.

    `judge` takes Evidence and `given`, and raises NoDataError when rows are missing.
    """

    source: str
    id: str
    statement: str
    quantity: str
    protocol: Protocol
    judge: Callable[..., Finding]
    given: dict
    untabled: str = ""


class NoDataError(Exception):
    """Report that the rows of a claim are missing; the message says which."""
