"""A published claim: its source, its protocol, and the finding that a check of it gives."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from analysis.stats import Estimate

HOLDS, FAILS, INCONCLUSIVE, NO_DATA = "holds", "does not hold", "inconclusive", "no data"

SOURCES = {
    "S0": "S0: Introduction to Triton: OnlineSoftmax faster than Torch (Mizuno-Ai / wu-kan, 2024)",
    "S1": "S1: notes on the Triton tutorial Fused Softmax (2026)",
    "S2": "S2: How to write softmax in Triton (Clay, 2024)",
    "S3": "S3: OneFlow / FasterTransformer softmax CUDA kernels (BBuf, 2023)",
    "S4": "S4: Softmax in OpenAI Triton (Nagi-ovo, 2024)",
}


@dataclass(frozen=True)
class Protocol:
    """The points that a claim is about, all of the operation softmax.

    `shapes` maps N to its M. The first of `distributions` that has rows counts. Rows without one of
    `variants`, those that the source compares with torch, are of another sweep.
    """

    name: str
    shapes: dict[int, int]
    distributions: tuple[str, ...]
    variants: tuple[str, ...]

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


@dataclass(frozen=True)
class Finding:
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


@dataclass(frozen=True)
class Claim:
    """One checkable quantity of a claim of the literature.

    `table` is the file of data/published/ from which it is recomputed; "" when the source prints
    none, and `untabled` says why. `judge` takes Evidence and raises NoDataError when rows are
    missing. `stated` is the number in the source's text, or NaN.
    """

    id: str
    statement: str
    quantity: str
    judge: Callable[..., Finding]
    protocol: Protocol
    table: str = ""
    untabled: str = ""
    stated: float = math.nan


class NoDataError(Exception):
    """Report that the rows of a claim are missing; the message says which."""
