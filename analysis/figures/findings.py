"""Sentences for the titles of figures, each true of the rows that are drawn."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from analysis import palette, ranking
from analysis.frame import is_baseline
from analysis.markdown import counted, number, percent, span
from analysis.schema import SIZE, SWEEP_MATRIX

OFTEN = 0.5  # share of the sizes that a kernel must have been timed at to be named
LOSS = (
    0.8  # share of its best throughput that torch keeps at least, if it loses nothing to speak of
)
TORCH = "torch"
NO_RACE = "No two kernels were timed at one size"
NAMES = {"cuda_oneflow": "OneFlow", "cuda_fastertransformer": "FasterTransformer"}


def winner(rows: pd.DataFrame) -> str:
    """Say which variant is the fastest at the most sizes, of those with two variants.

    A figure shows one sweep, and another one may have timed a faster kernel at the same sizes.
    """
    rows = _named(rows)
    rows = rows[rows.groupby(SWEEP_MATRIX)["variant"].transform("nunique") > 1]
    if rows.empty:
        return NO_RACE
    most = _most_wins(rows[ranking.is_near_best(rows)], len(rows.groupby(SWEEP_MATRIX)))
    return f"Of this sweep's kernels, {most}"


def usual_winner(raced: pd.DataFrame) -> str:
    """Say which variant is in the most best sets; `raced`: lines of `over_sweeps` with a rival."""
    return _most_wins(_named(raced[raced["in_best_set"]]), len(raced.groupby(SIZE)))


def _most_wins(best: pd.DataFrame, sizes: int) -> str:
    wins = ranking.wins(best)
    return f"{wins.index[0]} is fastest or tied at {wins.iloc[0]} of {counted(sizes, 'size')}"


def torch_loss(rows: pd.DataFrame) -> str:
    """Say how much of its best throughput torch keeps in longer rows; "" where that is most."""
    torch = rows[is_baseline(rows)].groupby(["gpu", "N"])["throughput_gbps"].median()
    kept = torch / torch.groupby("gpu").cummax()
    if kept.empty or kept.min() >= LOSS:
        return ""
    gpu, n = kept.idxmin()
    return (
        f"torch falls to {percent(kept.min())} of its best throughput at N = {n:,} ({gpu.upper()})"
    )


def cost(rows: pd.DataFrame) -> str:
    """Say how much longer the slowest kernel takes than the fastest at the largest matrix."""
    largest = _named(rows).sort_values(["elements", "N"]).iloc[-1]
    same = (rows[["gpu", "M", "N"]] == largest[["gpu", "M", "N"]]).all(axis=1)
    times = _named(rows[same]).groupby("variant")["time_us"].median().sort_values()
    return (
        f"{times.index[-1]} takes {number(times.iloc[-1] / times.iloc[0], 2)} times as long as "
        f"{times.index[0]} at {largest['M']}x{largest['N']} ({largest['gpu'].upper()})"
    )


def gain(rows: pd.DataFrame, variant: str) -> str:
    """Say what a call of `variant` saves over torch; rows have `saved_us`."""
    ends = rows[rows["variant"] == variant].sort_values("saved_us").iloc[[0, -1]]
    least, most = (f"{_us(row.saved_us)} ({row.M}x{row.N})" for row in ends.itertuples())
    return f"{variant} saves {least} to {most} of GPU time per call compared with torch"


def reach(rows: pd.DataFrame) -> str:
    """Say how near the best kernel stays to the speed of a copy, and how far torch falls.

    All rows have one M.
    """
    shares = _named(rows).pivot_table("of_copy", SIZE, "variant", aggfunc="median")
    lowest = shares.loc[:, shares.notna().mean() >= OFTEN].min()
    first = palette.most_first(lowest)[0]
    has_torch = TORCH in lowest and first != TORCH
    torch = f"; torch falls to {percent(lowest[TORCH])}" if has_torch else ""
    kept = f"{first} keeps at least {int(100 * lowest[first])} % of a copy's speed"
    return f"At M = {rows['M'].iloc[0]}, {kept}{torch}"


def profile(behind: pd.DataFrame, near: float, baselines: Collection[str]) -> str:
    """Say which kernel is most often within `near` of the fastest; `behind`: of ranking.profile."""
    behind = behind.rename(columns=dict.fromkeys(baselines, TORCH))
    behind = behind.loc[:, behind.notna().mean() >= OFTEN]
    shares = (behind <= 1 + near).sum() / behind.notna().sum()
    first, *slower = palette.most_first(shares)
    second = ""
    if slower:
        runs = np.isfinite(behind[slower[0]]).sum()
        some = f", which runs at {runs} of them," if runs < len(behind) else ""
        second = f"; {slower[0]}{some} at {percent(shares[slower[0]])}"
    return (
        f"{first} is within {percent(near)} of the fastest at {percent(shares[first])} of "
        f"{len(behind)} shapes{second}"
    )


def agreement(ratios: pd.DataFrame, base: str) -> str:
    """Say how many times as fast as `base` kernels are, as measured and as published.

    `ratios`: a line per variant and size; columns (`published` or another origin, GPU).
    """
    spans = {}
    for origin, gpu in sorted(ratios.columns, key=lambda column: column[0] == "published"):
        speeds = span(ratios[origin, gpu].dropna(), lambda ratio: number(ratio, 2), " to ")
        spans[origin, gpu] = speeds
    first, *others = (
        f"{speeds} in the article ({gpu.upper()})"
        if origin == "published"
        else f"{speeds} times as fast as {name_of(base)} on the {gpu.upper()}"
        for (origin, gpu), speeds in spans.items()
    )
    kernels = [*dict.fromkeys(map(name_of, ratios.index.get_level_values("variant")))]
    verb = "is" if len(kernels) == 1 else "are"
    return "; ".join([f"{' and '.join(kernels)} {verb} {first}", *others])


def name_of(variant: str) -> str:
    """Return the name of a published kernel's project, or the variant."""
    return NAMES.get(variant, variant)


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with torch's own functions under the name that sentences give them."""
    return rows.assign(variant=rows["variant"].mask(is_baseline(rows), TORCH))


def _us(value: float) -> str:
    return f"{number(value / 1000, 2)} ms" if value >= 1000 else f"{number(value, 2)} µs"
