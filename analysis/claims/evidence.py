"""The rows that decide a claim, and the reasons why they may not be enough."""

from collections import Counter
from collections.abc import Iterable

import pandas as pd

from analysis import statistics as stats
from analysis.claims.claim import Protocol
from analysis.frame import timed
from analysis.statistics import Ratio


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
