"""The terms of a published claim: protocol, evidence, finding, verdict, and the claim itself.

The verdicts `holds` and `does not hold` need a whole interval, or a p-value, on one side of the
claim, so noise can only make a verdict `inconclusive`. A claim about every size holds when each of
them is significant (Berger, Technometrics 24(4), 1982). It fails when one size is significant on
the other side, with p-values corrected over sizes (Holm).
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from analysis import markdown as md
from analysis import stats
from analysis.frame import is_ranked, legend
from analysis.schema import BASELINE
from analysis.stats import Estimate

HOLDS, FAILS, INCONCLUSIVE, NO_DATA = "holds", "does not hold", "inconclusive", "no data"
OPEN = (INCONCLUSIVE, NO_DATA)
SIDES = ABOVE, BELOW, UNCLEAR = "above", "below", "unclear"

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

    `shapes` maps N to its M. The first of `distributions` that has rows counts.
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


def p_values(ratios: Iterable[Estimate]) -> tuple[float, float]:
    """Return the p-values of "all ratios are above 1" and of "one ratio is below 1".

    The first is the largest p, the second the smallest p times the number of ratios.
    """
    ratios = list(ratios)
    above = [ratio.p() if ratio.log > 0 else 1.0 for ratio in ratios]
    below = [ratio.p() if ratio.log < 0 else 1.0 for ratio in ratios]
    return max(above), min(1.0, len(below) * min(below))


def sides(every: Mapping[int, tuple[float, float]]) -> dict[int, str]:
    """Return size -> its side of 1, from its `p_values`; those of `below` are corrected (Holm)."""
    below = stats.holm(p for _, p in every.values())
    return {
        n: ABOVE if p <= stats.LEVEL else BELOW if other <= stats.LEVEL else UNCLEAR
        for (n, (p, _)), other in zip(every.items(), below, strict=True)
    }


def sides_of(every: Mapping[int, Estimate]) -> dict[int, str]:
    """Return size -> the side of 1 of its ratio."""
    return sides({n: p_values([ratio]) for n, ratio in every.items()})


def side(ratio: Estimate) -> str:
    """Return on which side of 1 one ratio is, or `unclear`."""
    return sides_of({0: ratio})[0]


def verdict_on_all(sides: Iterable[str], complete: bool = True) -> str:
    """Return the verdict on "every ratio is above 1", from the sides of the ratios.

    It holds only if the ratios are `complete`, because a size that was not timed may be slower.
    """
    sides = set(sides)
    return FAILS if BELOW in sides else HOLDS if complete and UNCLEAR not in sides else INCONCLUSIVE


def verdict_on_number(ratio: Estimate, stated: float, decimals: int) -> str:
    """Return the verdict on "faster by `stated`", a number with `decimals` decimals.

    It holds if the whole interval reaches `stated`, and fails if no part of the interval does.
    """
    low, high = ratio.interval if ratio.variance else (ratio.value, ratio.value)
    # A source prints 2.948 as 2.95, so half a unit of the last digit is allowed.
    least = stated - 0.5 * 10**-decimals
    return HOLDS if low >= least else FAILS if high < least else INCONCLUSIVE


def close(decided: str) -> str:
    """Return a clause that explains an inconclusive verdict; "" for the others."""
    return ", too close to call" if decided == INCONCLUSIVE else ""


class Evidence:
    """Rows of one protocol, gpu, dtype, origin and sweep, looked up by (variant, N).

    `rows`: lines of stats.point_estimates, or of a published table. `published`: the evidence
    of the claim's own table, or None. Two variants are compared if one board timed both. torch is
    on every board, because every process times it.
    """

    def __init__(self, rows: pd.DataFrame, protocol: Protocol, published: "Evidence | None" = None):
        rows = protocol.select(rows)
        self.protocol = protocol
        self.published = published
        self.rows = {(row["variant"], row["N"]): row for row in rows.to_dict("records")}
        self.used: set[tuple[str, int]] = set()  # (variant, N) whose speed was read
        counts = rows[is_ranked(rows, any_board=True)]
        self._timed = set(zip(counts["variant"], counts["N"], strict=True))
        self._paired = "log" in rows

    def row(self, variant: str, n: int) -> dict:
        """Return the row of `variant` at `n`, of any status; NoDataError when absent."""
        if (variant, n) not in self.rows:
            raise NoDataError(
                f"no row of {variant} at N = {n} in {self.protocol} ({self.counts(variant)})"
            )
        return self.rows[variant, n]

    def is_timed(self, variant: str, n: int) -> bool:
        """Return whether a variant's speed at `n` is known; torch's is, from other processes."""
        return (variant, n) in self._timed or (variant == BASELINE and self._paired)

    def speed(self, variant: str, n: int) -> Estimate:
        """Return the speed of a variant at `n`: over torch, or as 1/µs in a published table."""
        if not self.is_timed(variant, n):
            raise NoDataError(f"{variant} at N = {n} {_untimed(self.row(variant, n))}")
        self.used.add((variant, n))
        if self._paired and variant == BASELINE:
            return Estimate(0.0)
        return stats.estimate(self.rows[variant, n])

    def speed_ratio(self, fast: str, slow: str, n: int) -> Estimate:
        """Return how many times faster `fast` is than `slow` at `n`; NoDataError if unknown."""
        speeds = self.speed(fast, n), self.speed(slow, n)
        if not self.on_one_board(fast, slow, n):
            raise NoDataError(f"{fast} and {slow} were timed on two boards at N = {n}")
        return speeds[0].minus(speeds[1])

    def marks(self) -> list[str]:
        """Return a line for each mark of the rows whose speed was read."""
        rows = ((variant, n, self.rows.get((variant, n), {})) for variant, n in sorted(self.used))
        marked: dict[str, list[str]] = {}
        for variant, n, row in rows:
            for line in legend([row.get("flags", "")]):
                marked.setdefault(line, []).append(f"{variant} at N = {n}")
        return [f"{line}: {', '.join(points)}" for line, points in marked.items()]

    def on_one_board(self, fast: str, slow: str, n: int) -> bool:
        """Return whether two timed variants can be compared."""
        if not self._paired or BASELINE in (fast, slow):
            return True
        return self.rows[fast, n]["gpu_uuid"] == self.rows[slow, n]["gpu_uuid"]

    def speed_ratios(self, fast: str, slow: str, least: int) -> dict[int, Estimate]:
        """Return speed_ratio at every N where both variants were timed on one board.

        Raises NoDataError below `least` sizes.
        """
        both = [
            n
            for n in sorted(self.protocol.shapes)
            if {(fast, n), (slow, n)} & self._timed
            and self.is_timed(fast, n)
            and self.is_timed(slow, n)
            and self.on_one_board(fast, slow, n)
        ]
        if len(both) < least:
            raise NoDataError(
                f"{fast} and {slow} are both timed, on one board, at {len(both)} sizes of "
                f"{self.protocol}, {least} are needed ({self.counts(fast)}; {self.counts(slow)})"
            )
        return {n: self.speed_ratio(fast, slow, n) for n in both}

    def counts(self, variant: str) -> str:
        """Return the number of a variant's rows of each status."""
        own = (row["status"] for (name, _), row in self.rows.items() if name == variant)
        return f"{variant}: {md.counts(own) or 'no row'}"


def sizes_on(where: str, sides: Mapping[int, str]) -> str:
    """Return the sizes on the side `where` of 1, for a sentence: `N = 256, 512`, or `no N`."""
    text = ", ".join(str(n) for n, side in sides.items() if side == where)
    return f"N = {text}" if text else "no N"


def _untimed(row: dict) -> str:
    if row["status"] == "interpreted":
        return "is interpreted: Triton's interpreter checks the result but gives no time"
    if row["status"] != "ok":
        return f"has status {row['status']}: {row['message'] or 'no message'}"
    if row["unranked_by"]:
        return f"is not ranked: {', '.join(row['unranked_by'].split())}"
    return "has no time"
