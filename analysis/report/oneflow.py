"""OneFlow's softmax: its dispatch among three kernels, and its speed against torch and Triton."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from analysis import ranking
from analysis import statistics as stats
from analysis.frame import MATRIX, timed
from analysis.report import markdown as md
from analysis.report.markdown import Block, Heading, Prose, Table
from analysis.statistics import Ratio

DISPATCH = "cuda_oneflow"
WARP, SMEM, UNCACHED = KERNELS = tuple(
    f"{DISPATCH}_{name}" for name in ("warp", "smem", "uncached")
)
WARP_COLUMNS = 1024  # the longest row that a warp keeps in its registers
MIN_KERNELS = 2  # timed, for there to be a choice
TRITON = "triton_"
SET = ["origin", "gpu", "sweep", "dtype", "op", "distribution"]


@dataclass(frozen=True)
class Choice:
    """One point where the dispatch is timed.

    `own` is the dispatch's row, `kernels` the timed rows of the three kernels by name, `taken` the
    kernel that the dispatch takes ("" where that is not known).
    """

    own: Mapping
    kernels: dict[str, Mapping]
    taken: str

    @property
    def open(self) -> bool:
        """Return whether the kernel taken is timed, and another one."""
        return len(self.kernels) >= MIN_KERNELS and self.taken in self.kernels

    @property
    def fastest(self) -> str:
        """Return the name of the fastest timed kernel (see ranking.order)."""
        names = list(self.kernels)
        return names[ranking.order(list(self.kernels.values()))[0]]

    def loss(self) -> Ratio:
        """Return the time of the kernel taken over that of the fastest, of `open` choices."""
        if self.taken == self.fastest:
            return Ratio(1.0, 1.0, 1.0)
        return stats.speed_ratio(self.kernels[self.fastest], self.kernels[self.taken])


def taken(n: int, statuses: Mapping[str, str]) -> str:
    """Return the kernel that the dispatch takes at N = `n`; "" where the rows do not tell.

    The warp's up to WARP_COLUMNS; beyond, the one in shared memory where a float32 row of N fits
    with at least one resident block, otherwise the uncached one. The status of the row of
    cuda_oneflow_smem at the same point (`statuses`: kernel to status) tells whether it fits:
    `unsupported` where it does not, and a kernel that ran (`ok`, `incorrect`) fitted.
    """
    if n <= WARP_COLUMNS:
        return WARP
    fits = {"ok": SMEM, "incorrect": SMEM, "unsupported": UNCACHED}
    return fits.get(statuses.get(SMEM, ""), "")


def choices(rows: pd.DataFrame) -> list[Choice]:
    """Return every point of `rows` where the dispatch is timed, by N, then M."""
    points = []
    rows = rows[rows["variant"].isin([DISPATCH, *KERNELS])].assign(timed=timed)
    for _, part in rows.sort_values(["N", "M"]).groupby(MATRIX, sort=False):
        by_name = {row["variant"]: row for row in part.to_dict("records")}
        if DISPATCH in by_name and by_name[DISPATCH]["timed"]:
            own = by_name[DISPATCH]
            statuses = {name: row["status"] for name, row in by_name.items()}
            ran = {name: by_name[name] for name in KERNELS if name in by_name}
            ran = {name: row for name, row in ran.items() if row["timed"]}
            points.append(Choice(own, ran, taken(own["N"], statuses)))
    return points


def identical_kernels(rows: pd.DataFrame, winners: pd.DataFrame) -> int:
    """Return at how many points winner and runner-up are the dispatch and the kernel it takes.

    `rows` are of a summary, for one gpu, origin, dtype, sweep and op, `winners` the best of them.
    """
    at = ["distribution", "M", "N"]
    fits = rows[rows["variant"] == SMEM].set_index(at)["status"].to_dict()
    count = 0
    for row in winners.to_dict("records"):
        status = fits.get(tuple(row[name] for name in at), "")
        count += {row["variant"], row["runner_up"]} == {DISPATCH, taken(row["N"], {SMEM: status})}
    return count


def section(measurements: pd.DataFrame) -> list[Block]:
    """Return one part for every set of rows in which OneFlow's dispatch is timed."""
    parts: list[Block] = []
    for key, rows in measurements.groupby(SET, sort=True):
        if (rows[timed(rows)]["variant"] == DISPATCH).any():
            origin, gpu, sweep, dtype, op, distribution = key
            parts += [
                Heading(f"`{sweep}` on {gpu} ({origin}): {op}, {dtype}, {distribution} input"),
                *_dispatch(choices(rows)),
                *_against(rows),
            ]
    return parts


def _dispatch(choices: list[Choice]) -> list[Block]:
    """Return what the dispatch takes, point by point and kernel by kernel."""
    judged = [choice for choice in choices if choice.open]
    blocks: list[Block] = [Prose(_sentence(choices, judged))]
    if judged:
        columns = ["N", "M", "takes", *(f"{_short(name)} (µs)" for name in KERNELS)]
        columns += ["fastest", "a wrong choice costs", "of copy"]
        blocks.append(Table(columns, [_line(choice) for choice in judged], "dispatch"))
    return [*blocks, _by_kernel(choices)]


def _sentence(choices: list[Choice], judged: list[Choice]) -> str:
    text = (
        f"`{DISPATCH}` is timed at {md.counted(len(choices), 'point')}; its choice can be judged "
        f"at {len(judged)} of them, where the kernel it takes is timed, and another one of the "
        "three"
    )
    if not judged:
        return text + "."
    losses = [(choice.loss(), choice.own["N"]) for choice in judged]
    wrong = [(loss, n) for loss, n in losses if loss.side() == "above"]
    text += f". It takes a kernel that is surely not the fastest at {len(wrong)} of {len(judged)}"
    if not wrong:
        return text + "."
    loss, n = max(wrong, key=lambda pair: pair[0].value)
    return text + f", the worst at N = {n}: {_percent(loss)} more time."


def _line(choice: Choice) -> list[object]:
    times = (
        md.number(choice.kernels[name]["time_us"]) if name in choice.kernels else ""
        for name in KERNELS
    )
    own = choice.own
    words = (_short(choice.taken), *times, _short(choice.fastest), _cost(choice))
    return [own["N"], own["M"], *words, md.number(own["of_copy"], 3)]


def _cost(choice: Choice) -> str:
    loss = choice.loss()
    if choice.taken == choice.fastest:
        return "nothing"
    if loss.side() == "unclear":
        return f"not distinguishable from nothing ({_percent(loss)})"
    return _percent(loss)


def _percent(loss: Ratio) -> str:
    """Return the time lost, relative to the fastest kernel, with its interval if it has one."""
    value, low, high = (f"{100 * (bound - 1):.1f}" for bound in (loss.value, loss.low, loss.high))
    return f"{value} %" if math.isnan(loss.low) else f"{value} % [{low}, {high}]"


def _by_kernel(choices: list[Choice]) -> Block:
    """Return the fraction of the copy bandwidth that the dispatch reaches, by kernel taken."""
    lines = []
    for name in (*KERNELS, ""):
        here = [choice.own for choice in choices if choice.taken == name]
        of_copy = pd.Series([own["of_copy"] for own in here], dtype="float64").dropna()
        if of_copy.empty:
            continue
        mean = statistics.geometric_mean(of_copy)
        numbers = (of_copy.median(), mean, of_copy.min(), of_copy.max())
        label = _short(name) if name else "not known (no row of cuda_oneflow_smem says)"
        sizes = md.span([own["N"] for own in here])
        lines.append([label, len(here), sizes, *(md.number(value, 3) for value in numbers)])
    columns = ["takes", "points", "N", "of copy, median", "geometric mean", "least", "most"]
    return Table(columns, lines, "regimes") if lines else Prose("No row has a copy beside it.")


def _against(rows: pd.DataFrame) -> list[Block]:
    """Compare the dispatch with torch and with the best Triton row, point by point."""
    lines, over_torch, over_triton = [], [], []
    ranked = rows[timed(rows)].sort_values(["N", "M"])
    for _, point in ranked.groupby(MATRIX, sort=False):
        by_name = {row["variant"]: row for row in point.to_dict("records")}
        if DISPATCH not in by_name:
            continue
        own = by_name[DISPATCH]
        torch = stats.over_torch(own)
        over_torch.append(torch)
        line = [own["N"], own["M"], md.ratio(torch), "", ""]
        if others := [row for name, row in by_name.items() if name.startswith(TRITON)]:
            best = others[ranking.order(others)[0]]
            over_triton.append(stats.speed_ratio(own, best))
            line[3:] = md.ratio(over_triton[-1]), best["variant"]
        lines.append(line)
    text = f"`{DISPATCH}` against torch: {_counts(over_torch)}"
    columns = ["N", "M", "over torch"]
    if over_triton:
        text += f"; against the best Triton row: {_counts(over_triton)}"
        columns += ["over the best Triton row", "which is"]
    return [Prose(f"{text}."), Table(columns, [line[: len(columns)] for line in lines], "points")]


def _counts(ratios: list[Ratio]) -> str:
    sides = [ratio.side() for ratio in ratios]
    return (
        f"faster at {sides.count('above')}, slower at {sides.count('below')}, no sure difference "
        f"at {sides.count('unclear')} of {md.counted(len(ratios), 'point')}"
    )


def _short(name: str) -> str:
    return name.removeprefix(f"{DISPATCH}_")
