"""The three published protocols: which rows a claim speaks about. All are of softmax."""

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Protocol:
    """`shapes` maps N to the M it is measured with; the first of `distributions` that has rows
    counts."""

    name: str
    shapes: dict[int, int]
    distributions: tuple[str, ...]

    def select(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows of this protocol, at most one for each (variant, N) of one gpu, dtype and sweep."""
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


# N = 2^18 is not in the article's table: only claim S0-c asks for it.
ONLINE = Protocol("online_softmax", {2**i: 1024 for i in range(8, 19)}, ("uniform",))
FUSED = Protocol("fused_softmax", {128 * i: 4096 for i in range(2, 100)}, ("normal",))
# The source used constant input; our own sweep uses normal (constant data draws less power).
ONEFLOW = Protocol("oneflow", {s: 32 * 64 * s for s in (16, 32, 64, 128, 512)}, ("normal", "ones"))
