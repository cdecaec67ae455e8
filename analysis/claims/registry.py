"""What a claim is, and the list of them all."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from analysis.claims.evidence import Evidence
from analysis.claims.protocol import Protocol
from analysis.ratios import Ratio

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
class Finding:
    """What the rows say: the value of the claim's quantity, its interval, verdict and reason."""

    verdict: str
    why: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @classmethod
    def of(cls, verdict: str, ratio: Ratio, why: str) -> "Finding":
        """A finding whose quantity is `ratio`."""
        return cls(verdict, why, ratio.value, ratio.low, ratio.high)


@dataclass(frozen=True)
class Claim:
    """One checkable quantity of a claim of the literature.

    `table` is the file of data/published/ that it is recomputed from; "" when the source
    prints none, and then `untabled` says so. `judge` raises NotMeasurableError when rows are
    lacking. `stated` is the number in the source's text, NaN where it gives none.
    """

    id: str
    statement: str
    quantity: str
    protocol: Protocol
    judge: Callable[[Evidence], Finding]
    table: str = ""
    untabled: str = ""
    stated: float = math.nan


def verdict(side: str) -> str:
    """From the side of 1 (Ratio.side) that a ratio is on; above 1 is what the claim says."""
    return {"above": HOLDS, "below": FAILS, "unclear": UNDECIDED}[side]


def reaches(ratio: Ratio, stated: float, decimals: int) -> str:
    """Rule for "faster by x": faster for sure, and x within or below the interval.

    holds: the interval lies above 1 and its upper end reaches `stated`, to the digits that the
    source gives. does not hold: otherwise, except that an interval around 1 which also reaches
    `stated` decides nothing.
    """
    high = ratio.value if math.isnan(ratio.high) else ratio.high
    # Half a unit of the last digit given: 2.948 is what a source prints as 2.95.
    if high < stated - 0.5 * 10**-decimals:
        return FAILS
    return verdict(ratio.side())
