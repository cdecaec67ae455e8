"""A published claim: its source, its protocol, the rows that judge it, and the finding."""

import math
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import pandas as pd

from analysis import markdown as md
from analysis import stats
from analysis.claims.reproduction import Outcome
from analysis.frame import is_ranked, legend
from analysis.stats import Estimate


class Protocol(NamedTuple):
    """The points that a claim is about, as in claims.yaml. `baseline`: torch's own variant."""

    name: str
    op: str
    baseline: str
    shapes: dict[int, int]
    distributions: list[str]
    variants: list[str]
    table: str
    minimum_sizes: int = 1

    @classmethod
    def from_yaml(cls, shapes: dict, **fields) -> "Protocol":
        """Return an entry of claims.yaml, with each N of its range."""
        if "step" in shapes:
            sizes = range(shapes["from"], shapes["to"] + 1, shapes["step"])
            shapes = dict.fromkeys(sizes, shapes["M"])
        return cls(shapes=shapes, **fields)

    def select(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return its rows, at most one for each (variant, N) of one gpu, dtype and sweep."""
        fits = (rows["op"] == self.op) & (rows["M"] == rows["N"].map(self.shapes))
        for distribution in self.distributions:
            selected = rows[fits & (rows["distribution"] == distribution)]
            if selected["variant"].isin(self.variants).any():
                return selected
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
    def on_ratio(cls, outcome: Outcome, ratio: Estimate, details: str) -> "Finding":
        """Return a finding whose quantity is `ratio`."""
        return cls(outcome.verdict, f"{outcome.why}; {details}", ratio.value, *ratio.interval)


class Claim(NamedTuple):
    """One checkable quantity of a claim of the literature, an entry of claims.yaml.

    `judge` takes Evidence and `arguments`. It raises NoDataError when rows are missing.
    `explained`: the anchor of its paragraph in docs/explanation/why_kernels_differ.md.
    """

    source: str
    id: str
    statement: str
    quantity: str
    protocol: Protocol
    judge: Callable[..., Finding]
    arguments: dict
    explained: str
    untabled: str = ""


class NoDataError(Exception):
    """Report that the rows of a claim are missing; the message says which."""


class Evidence:
    """Rows of one protocol, gpu, dtype, origin and sweep, looked up by (variant, N).

    `rows`: lines of stats.point_estimates, or of a published table. `published`: the evidence of
    the claim's own table, or None; `published_value`: the claim's quantity there, or NaN. Two
    variants are compared if one board timed both. torch is on every board, because every process
    times it.
    """

    def __init__(
        self,
        rows: pd.DataFrame,
        protocol: Protocol,
        published: "Evidence | None" = None,
        published_value: float = math.nan,
    ):
        rows = protocol.select(rows)
        self.protocol = protocol
        self.published = published
        self.published_value = published_value
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
        is_torch = variant == self.protocol.baseline
        return (variant, n) in self._timed or (is_torch and self._paired)

    def _speed(self, variant: str, n: int) -> Estimate:
        """Return the speed of a variant at `n`: over torch, or as 1/µs in a published table."""
        if not self.is_timed(variant, n):
            raise NoDataError(f"{variant} at N = {n} {_untimed(self.row(variant, n))}")
        if self._paired and variant == self.protocol.baseline:
            return Estimate(0.0)
        return stats.estimate(self.rows[variant, n])

    def speed_ratio(self, fast: str, slow: str, n: int) -> Estimate:
        """Return how many times faster `fast` is than `slow` at `n`; NoDataError if unknown."""
        speeds = self._speed(fast, n), self._speed(slow, n)
        rivals = {fast, slow} - {self.protocol.baseline}
        boards = {self.rows[name, n]["gpu_uuid"] for name in rivals}
        if len(boards) > 1:
            raise NoDataError(f"{fast} and {slow} were timed on two boards at N = {n}")
        self.used |= {(fast, n), (slow, n)}
        return speeds[0].over(speeds[1])

    def marks(self) -> list[str]:
        """Return a line for each mark of the rows whose speed was read."""
        rows = ((variant, n, self.rows.get((variant, n), {})) for variant, n in sorted(self.used))
        marked: dict[str, list[str]] = {}
        for variant, n, row in rows:
            for line in legend([row.get("flags", "")]):
                marked.setdefault(line, []).append(f"{variant} at N = {n}")
        return [f"{line}: {', '.join(points)}" for line, points in marked.items()]

    def speed_ratios(self, fast: str, slow: str, minimum: int = 0) -> dict[int, Estimate]:
        """Return speed_ratio at every N where it is known; NoDataError below `minimum` sizes.

        `minimum`: by default that of the protocol.
        """
        ratios, minimum = {}, minimum or self.protocol.minimum_sizes
        for n in sorted(self.protocol.shapes):
            with suppress(NoDataError):
                ratios[n] = self.speed_ratio(fast, slow, n)
        if len(ratios) < minimum:
            raise NoDataError(
                f"too few sizes: {fast} and {slow} were timed on one board at {len(ratios)} sizes "
                f"of {self.protocol}, and {minimum} are needed ({self.counts(fast)}; "
                f"{self.counts(slow)})"
            )
        return ratios

    def counts(self, variant: str) -> str:
        """Return the number of a variant's rows of each status."""
        statuses = (row["status"] for (name, _), row in self.rows.items() if name == variant)
        return f"{variant}: {md.counts(statuses) or 'no row'}"


def _untimed(row: dict) -> str:
    if row["status"] == "interpreted":
        return "is interpreted: Triton's interpreter checks the result but gives no time"
    if row["status"] != "ok":
        return f"has status {row['status']}: {row['message'] or 'no message'}"
    return f"is not ranked: {', '.join(row['unranked_by'].split())}"
