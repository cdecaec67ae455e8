"""The terms of a published claim: protocol, evidence, finding, verdict, and the claim itself."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import pandas as pd

from analysis import statistics as stats
from analysis.frame import timed
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


def verdict_on_all(sides: Collection[str]) -> str:
    """Return the verdict on a claim about every size, by the side of 1 of each size's ratio."""
    return FAILS if "below" in sides else UNDECIDED if "unclear" in sides else HOLDS


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


class NotMeasurableError(Exception):
    """The rows cannot decide the claim; the message is one sentence that says why."""


class Evidence:
    """Rows of one protocol, gpu, dtype, origin and sweep, looked up by (variant, N).

    `published` is the evidence of the claim's own table, None where there is none.
    """

    def __init__(self, rows: pd.DataFrame, protocol: Protocol, published: "Evidence | None" = None):
        rows = protocol.select(rows)
        self.protocol = protocol
        self.published = published
        self.rows = {(row["variant"], row["N"]): row for row in rows.to_dict("records")}
        counts = rows[timed(rows)]
        self._timed = set(zip(counts["variant"], counts["N"], strict=True))

    def row(self, variant: str, n: int) -> dict:
        """Return the row of `variant` at `n`, of any status; NotMeasurableError when absent."""
        if (variant, n) not in self.rows:
            raise NotMeasurableError(
                f"no row of {variant} at N = {n} in {self.protocol} ({self._counts(variant)})"
            )
        return self.rows[variant, n]

    def timed_row(self, variant: str, n: int) -> dict:
        """Return the row as `row`; NotMeasurableError when it does not count as timed."""
        row = self.row(variant, n)
        if (variant, n) not in self._timed:
            raise NotMeasurableError(f"{variant} at N = {n} {_untimed(row)}")
        return row

    def is_timed(self, variant: str, n: int) -> bool:
        """Return whether the row of `variant` at `n` counts as timed (frame.timed)."""
        return (variant, n) in self._timed

    def speed_ratio(self, fast: str, slow: str, n: int) -> Ratio:
        """Return how many times faster `fast` is than `slow` at `n`; both must be timed."""
        return stats.speed_ratio(self.timed_row(fast, n), self.timed_row(slow, n))

    def speed_ratios(self, fast: str, slow: str, least: int) -> dict[int, Ratio]:
        """Return it for every N where both are timed; NotMeasurableError below `least` sizes."""
        both = [
            n
            for n in sorted(self.protocol.shapes)
            if self.is_timed(fast, n) and self.is_timed(slow, n)
        ]
        if len(both) < least:
            raise NotMeasurableError(
                f"{fast} and {slow} are both timed at {len(both)} sizes of {self.protocol}, "
                f"{least} are needed ({self._counts(fast)}; {self._counts(slow)})"
            )
        return {n: self.speed_ratio(fast, slow, n) for n in both}

    def _counts(self, variant: str) -> str:
        counts = Counter(row["status"] for (name, _), row in self.rows.items() if name == variant)
        text = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        return f"{variant}: {text or 'no row'}"


def sizes_on(side: str, every: dict[int, Ratio]) -> list[int]:
    """Return the sizes whose ratio is on that side of 1 (see Ratio.side)."""
    return [n for n, ratio in every.items() if ratio.side() == side]


def listed(sizes: Iterable[int]) -> str:
    """Return sizes for a sentence: `N = 256, 512`, or `no N`."""
    text = ", ".join(str(n) for n in sizes)
    return f"N = {text}" if text else "no N"


def interval(ratio: Ratio) -> str:
    """Return `1.353x (1.350 to 1.356)`, the interval only where there is one."""
    text = f"{ratio.value:.3f}x"
    return text if pd.isna(ratio.low) else f"{text} ({ratio.low:.3f} to {ratio.high:.3f})"


def _untimed(row: dict) -> str:
    if row["status"] == "interpreted":
        return "is interpreted: Triton's interpreter checks the result but gives no time"
    if row["status"] != "ok":
        return f"has status {row['status']}: {row['message'] or 'no message'}"
    if row["unranked_by"]:
        return f"is not ranked: flagged {', '.join(row['unranked_by'].split())}"
    return "has no time"
