"""The terms of a published claim: protocol, finding, verdict, and the claim itself."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from analysis.statistics import Ratio

HOLDS = "holds"
FAILS = "does not hold"
UNDECIDED = "not measurable"

SOURCES = {
    "S0": "S0: Introduction to Triton: OnlineSoftmax faster than Torch (Mizuno-Ai / wu-kan, 2024)",
    "S1": "S1: notes on the Triton tutorial Fused Softmax (2026)",
    "S2": "S2: How to write softmax in Triton (Clay, 2024)",
    "S3": "S3: OneFlow / FasterTransformer softmax CUDA kernels (BBuf, 2023)",
    "S4": "S4: Softmax in OpenAI Triton (Nagi-ovo, 2024)",
}


@dataclass(frozen=True)
class Protocol:
    """The points that a claim is about, all of softmax.

    `shapes` maps N to its M; of `distributions` the first one that has rows is used.
    """

    name: str
    shapes: dict[int, int]
    distributions: tuple[str, ...]

    def select(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return its rows, at most one for each (variant, N) of one gpu, dtype and sweep."""
        fits = (rows["op"] == "softmax") & (rows["M"] == rows["N"].map(self.shapes))
        for distribution in self.distributions:
            chosen = rows[fits & (rows["distribution"] == distribution)]
            if len(chosen):
                return chosen
        return rows.iloc[:0]

    def __str__(self) -> str:
        rows = sorted(set(self.shapes.values()))
        m = f"M = {rows[0]}" if len(rows) == 1 else f"M = {rows[0]} to {rows[-1]}"
        return f"protocol {self.name} ({m}, {' or '.join(self.distributions)} input)"


@dataclass(frozen=True)
class Finding:
    """The value of a claim's quantity in some rows, its interval, the verdict and the reason."""

    verdict: str
    why: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @classmethod
    def of(cls, verdict: str, ratio: Ratio, why: str) -> "Finding":
        """Return a finding whose quantity is `ratio`."""
        return cls(verdict, why, ratio.value, ratio.low, ratio.high)


@dataclass(frozen=True)
class Claim:
    """One checkable quantity of a claim of the literature.

    `table` is the file of data/published/ that it is recomputed from; "" when the source prints
    none, for the reason `untabled`. `judge` takes Evidence; it raises NotMeasurableError when
    rows are missing. `stated` is the number in the source's text, NaN where it gives none.
    """

    id: str
    statement: str
    quantity: str
    judge: Callable[..., Finding]
    protocol: Protocol
    table: str = ""
    untabled: str = ""
    stated: float = math.nan


def verdict(ratio: Ratio) -> str:
    """Return the verdict on the claim that `ratio` is above 1."""
    return {"above": HOLDS, "below": FAILS, "unclear": UNDECIDED}[ratio.side()]


def close(decided: str) -> str:
    """Return a clause for the reason of an undecided claim, otherwise ""."""
    return ", too close to call" if decided == UNDECIDED else ""


def reaches(ratio: Ratio, stated: float, decimals: int) -> str:
    """Return the verdict on "faster by `stated`", a number with so many decimals.

    holds: the interval lies above 1 and its upper end reaches `stated`. does not hold: otherwise,
    except that an interval around 1 which also reaches `stated` is undecided.
    """
    high = ratio.value if math.isnan(ratio.high) else ratio.high
    # Half a unit of the last digit given: 2.948 is what a source prints as 2.95.
    if high < stated - 0.5 * 10**-decimals:
        return FAILS
    return verdict(ratio)
