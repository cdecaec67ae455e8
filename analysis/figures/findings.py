"""Sentences for the titles of figures, each true of the rows that are drawn."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from analysis import palette, ranking
from analysis.frame import is_baseline
from analysis.markdown import counted, number, percent, span
from analysis.schema import SIZE, SWEEP_MATRIX

OFTEN = 0.5  # share of the sizes that a kernel must have been timed at to be named
KEPT_SHARE = 0.8  # Share of its best throughput; the title mentions torch's loss below it
TORCH = "torch"
MIN_KERNELS_OF_ORDER = 3
NO_RACE = "No two kernels were timed at one size"
NAMES = {"cuda_oneflow": "OneFlow", "cuda_fastertransformer": "FasterTransformer"}
NAMES |= {"peer_liger": "Liger", "peer_quack": "QuACK", "peer_tileops": "TileOPs"}
NAMES |= {"torch_softmax": TORCH}


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
    if kept.empty or kept.min() >= KEPT_SHARE:
        return ""
    gpu, n = kept.idxmin()
    return (
        f"torch falls to {percent(kept.min())} of its best throughput at N = {n:,} ({gpu.upper()})"
    )


def same_order(rows: pd.DataFrame) -> str:
    """Say which kernel is first and which last on every GPU; "" if it is not the same everywhere.

    That is at the longest N at which each GPU has times of the same MIN_KERNELS_OF_ORDER kernels.
    A faster kernel that some GPU lacks is named, too.
    """
    times = _named(rows).pivot_table("time_us", ["N", "variant"], "gpu", aggfunc="median").dropna()
    times = times[times.groupby("N").transform("size") >= MIN_KERNELS_OF_ORDER]
    if times.empty:
        return ""
    n = times.index.get_level_values("N").max()
    firsts, lasts = (set(ends) for ends in (times.loc[n].idxmin(), times.loc[n].idxmax()))
    if len(firsts) > 1 or len(lasts) > 1:
        return ""
    first = firsts.pop()
    others = _named(rows).query("N == @n and variant not in @times.loc[@n].index")
    limit = others["gpu"].map(times.loc[(n, first)])
    ahead = others[others["time_us"] < limit].groupby("variant", sort=False)["gpu"].unique()
    faster = ", ".join(
        f"{name} ({' and '.join(gpus).upper()} only)" for name, gpus in ahead.items()
    )
    return (
        f"Of the {len(times.loc[n])} kernels that each GPU has at N = {n:,}, {first} is the "
        f"fastest and {lasts.pop()} the slowest" + (f"; faster still: {faster}" if faster else "")
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


def hero(rows: pd.DataFrame, is_torch: pd.Series) -> str:
    """Say how often the first kernels are `near` the fastest, and which share torch reaches.

    They are the one that is most often, and those that follow with one count.
    """
    wins = ranking.wins(rows[rows["near"]])
    followers = wins[1:][wins[1:] == wins[1:].max()]
    rivals = " and ".join(map(name_of, followers.index))
    each = " each" if len(followers) > 1 else ""
    rival = f", {rivals} at {followers.iloc[0]}{each}" if rivals else ""
    torch = rows.loc[is_torch, "of_limit"].median()
    return (
        f"Softmax: {name_of(wins.index[0])} is fastest of these or within 1 % at {wins.iloc[0]} of "
        f"{counted(rows.groupby(SIZE).ngroups, 'shape')}{rival}; torch reaches {percent(torch)} of "
        "the limit (median)"
    )


def profile(behind: pd.DataFrame, near: float, baselines: Collection[str]) -> str:
    """Say which kernel is most often within `near` of the fastest; `behind`: of ranking.profile.

    The next kernel is said with it, and where this one does not run everywhere, how often the first
    is within `near` where it does.
    """
    shares = _near_shares(behind, near)
    first, *slower = palette.most_first(shares)
    second = ""
    if slower:
        name = TORCH if slower[0] in baselines else slower[0]
        runs = np.isfinite(behind[slower[0]])
        second = f"; {name} at {percent(shares[slower[0]])}"
        if not runs.all():
            both = (behind.loc[runs, first] <= 1 + near).mean()
            share = percent((behind.loc[runs, slower[0]] <= 1 + near).mean())
            second = (
                f"; at the {runs.sum()} that {name} runs, at {percent(both)}, {name} at {share}"
            )
    return (
        f"{TORCH if first in baselines else first} is within {percent(near)} of the fastest at "
        f"{percent(shares[first])} of {len(behind)} shapes{second}"
    )


def runner_up(behind: pd.DataFrame, near: float) -> str:
    """Return the variant that `profile` names second; "" if it names one."""
    return [*palette.most_first(_near_shares(behind, near)), ""][1]


def _near_shares(behind: pd.DataFrame, near: float) -> pd.Series:
    behind = behind.loc[:, behind.notna().mean() >= OFTEN]
    return (behind <= 1 + near).sum() / behind.notna().sum()


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
    """Return the name of a kernel's project, or the variant."""
    return NAMES.get(variant, variant)


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with torch's own functions under the name that sentences give them."""
    return rows.assign(variant=rows["variant"].mask(is_baseline(rows), TORCH))


def _us(value: float) -> str:
    return f"{number(value / 1000, 2)} ms" if value >= 1000 else f"{number(value, 2)} µs"
