"""OneFlow's dispatch: which of its three kernels it takes, and what another would have cost."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from analysis import ratios, summary
from analysis.frame import POINT, timed
from analysis.ratios import Ratio

DISPATCH = "cuda_oneflow"
WARP, SMEM, UNCACHED = KERNELS = tuple(
    f"{DISPATCH}_{name}" for name in ("warp", "smem", "uncached")
)
WARP_COLUMNS = 1024  # the longest row that a warp keeps in its registers
LEAST = 2  # kernels that are timed, for there to be a choice


@dataclass(frozen=True)
class Choice:
    """One point where the dispatch is timed.

    `own` is the dispatch's row, `kernels` the timed rows of the three kernels by name, `taken` the
    one that the dispatch takes ("" where that is not known).
    """

    own: Mapping
    kernels: dict[str, Mapping]
    taken: str

    @property
    def open(self) -> bool:
        """Whether there is something to compare: enough kernels timed, among them the one taken."""
        return len(self.kernels) >= LEAST and self.taken in self.kernels

    @property
    def fastest(self) -> str:
        """Name of the fastest of the timed kernels (see analysis.summary.order)."""
        names = list(self.kernels)
        return names[summary.order(list(self.kernels.values()))[0]]

    def loss(self) -> Ratio:
        """Time of the kernel taken over that of the fastest, at least 1; from `open` choices."""
        if self.taken == self.fastest:
            return Ratio(1.0, 1.0, 1.0)
        return ratios.speed_ratio(self.kernels[self.fastest], self.kernels[self.taken])


def taken(n: int, statuses: Mapping[str, str]) -> str:
    """The kernel that the dispatch takes at N = `n`; "" where the rows do not tell.

    The warp's up to WARP_COLUMNS; beyond, the one in shared memory where a float32 row of N fits
    with at least one resident block, else the uncached one. Whether it fits is in the status of
    the row of cuda_oneflow_smem at the same point (`statuses`: kernel to status): it is
    `unsupported` where it does not, and a kernel that ran (`ok`, `incorrect`) fitted.
    """
    if n <= WARP_COLUMNS:
        return WARP
    fits = {"ok": SMEM, "incorrect": SMEM, "unsupported": UNCACHED}
    return fits.get(statuses.get(SMEM, ""), "")


def choices(rows: pd.DataFrame) -> list[Choice]:
    """Every point of `rows` where the dispatch is timed, by N, then M."""
    found = []
    rows = rows[rows["variant"].isin([DISPATCH, *KERNELS])].assign(timed=timed)
    for _, part in rows.sort_values(["N", "M"]).groupby(POINT, sort=False):
        by_name = {row["variant"]: row for row in part.to_dict("records")}
        if DISPATCH in by_name and by_name[DISPATCH]["timed"]:
            own = by_name[DISPATCH]
            statuses = {name: row["status"] for name, row in by_name.items()}
            ran = {name: by_name[name] for name in KERNELS if name in by_name}
            ran = {name: row for name, row in ran.items() if row["timed"]}
            found.append(Choice(own, ran, taken(own["N"], statuses)))
    return found


def twins(rows: pd.DataFrame, winners: pd.DataFrame) -> int:
    """At how many points winner and runner-up are the dispatch and the kernel that it takes.

    `rows` are of a summary, for one gpu, origin, dtype, sweep and op, `winners` the best of them.
    """
    at = ["distribution", "M", "N"]
    fits = rows[rows["variant"] == SMEM].set_index(at)["status"].to_dict()
    count = 0
    for row in winners.to_dict("records"):
        status = fits.get(tuple(row[name] for name in at), "")
        count += {row["variant"], row["runner_up"]} == {DISPATCH, taken(row["N"], {SMEM: status})}
    return count
