"""Sentences for the titles of figures, each chosen so that it is true of the rows given to it.

Speeds are paired ratios to torch where all rows have one, else inverse times. A kernel within NEAR
of the fastest counts as the fastest, because the ranking calls such a difference a tie, too.
"""

from collections.abc import Collection

import numpy as np
import pandas as pd

from analysis import palette, stats
from analysis.frame import is_baseline
from analysis.markdown import counted, number, percent

NEAR = 1 + stats.TIE
SHAPE = ["gpu", "op", "dtype", "M", "N"]
OFTEN = 0.5  # share of the sizes that lets a sentence be about one kernel alone
# Shares of its bandwidth that torch may lose, in words; less is no finding.
LOSSES = {0.75: "three quarters", 2 / 3: "two thirds", 0.5: "half", 1 / 3: "a third"}
LOSSES |= {0.25: "a quarter", 0.2: "a fifth"}
AGREES = 0.2  # relative difference of two ratios that count as the same result
TORCH = "torch"


def winner(rows: pd.DataFrame) -> str:
    """Say which variant is the fastest: everywhere, up to some N, mostly, or none.

    Only sizes with two variants count.
    """
    speeds = _speeds(rows)
    speeds = speeds[speeds.notna().sum(axis=1) > 1]
    if speeds.empty:
        return "No two kernels were timed at one size"
    is_fastest = speeds.ge(speeds.max(axis=1) / NEAR, axis=0)
    wins, sizes = is_fastest.sum(), len(speeds)
    first, second = palette.most_first(wins)[:2]
    if wins[first] == sizes and {first, second} == {*speeds} and TORCH in speeds:
        verb = "is not" if first == TORCH else "is"
        return f"{second if first == TORCH else first} {verb} faster than torch at {_all(sizes)}"
    if wins[first] == sizes:
        ties = int(is_fastest.drop(columns=first).any(axis=1).sum())
        tie = f", in a tie at {ties}" if ties else ""
        subject = "No kernel beats torch" if first == TORCH else f"{first} is the fastest"
        word = "size" if rows["op"].nunique() == 1 else "point"
        return f"{subject} at {_all(sizes, word)}{tie}"
    if sentence := _change(is_fastest, speeds.notna()):
        return sentence
    timed = speeds.notna().sum()
    # a kernel that is absent at most sizes has not lost there
    usual = max(wins.index, key=lambda name: (wins[name] >= OFTEN * timed[name], wins[name]))
    if OFTEN * sizes <= timed[usual] < sizes and wins[usual] >= OFTEN * timed[usual]:
        wins_of = "all" if wins[usual] == timed[usual] else f"{wins[usual]} of the"
        where = f"at {wins_of} {timed[usual]} sizes where it ranks, of {sizes}"
        return f"{usual} is the fastest or tied {where}"
    count = f"{wins[first]} of {counted(sizes, 'size')}"
    if wins[first] < OFTEN * sizes:
        return (
            f"No kernel wins everywhere: {first} is the fastest at {count}, "
            f"{second} at {wins[second]}"
        )
    behind = _longer((speeds.max(axis=1) / speeds[first]).max())
    return f"{first} is the fastest or tied at {count}, and takes at most {behind} at the others"


def torch_loss(rows: pd.DataFrame) -> str:
    """Say how much of its best bandwidth torch loses in longer rows; "" where it is little.

    It is the largest share of LOSSES that torch loses on all GPUs beyond some N, one of which has
    two sizes there, and the smallest such N.
    """
    torch = rows[is_baseline(rows)]
    rates = torch.pivot_table("throughput_gbps", "N", "gpu", aggfunc="median").sort_index()
    losses = {}
    for border in rates.index[:-2]:
        beyond = rates[rates.index > border]
        if (beyond.notna().sum() > 1).any():
            losses[border] = (1 - beyond.max() / rates.loc[:border].max()).min()
    for share, words in LOSSES.items():
        if borders := [border for border, loss in losses.items() if loss >= share]:
            of_m = f" (M = {torch['M'].iloc[0]})" if torch["M"].nunique() == 1 else ""
            beyond = f"{min(borders):,} columns{of_m}"
            return f"torch loses at least {words} of its bandwidth beyond {beyond}"
    return ""


def cost(rows: pd.DataFrame) -> str:
    """Say how much longer the slowest kernel takes than the fastest at the largest matrix."""
    rows = _named(rows)
    largest = rows[rows["elements"] == rows["elements"].max()]
    largest = largest[largest["gpu"] == largest["gpu"].iloc[0]]
    gpu, m, n = largest[["gpu", "M", "N"]].iloc[0]
    times = largest.groupby("variant")["time_us"].median().sort_values()
    place = f"at {m}x{n} ({gpu.upper()})"
    if len(times) == 1:
        return f"A call of {times.index[0]} takes {_us(times.iloc[0])} {place}"
    ratio = times.iloc[-1] / times.iloc[0]
    if ratio <= NEAR:
        return f"All kernels take the same time {place}"
    return f"{times.index[-1]} takes {_times(ratio)} as long as {times.index[0]} {place}"


def gain(rows: pd.DataFrame, variant: str) -> str:
    """Say what a call of `variant` saves over torch; rows have `saved_us`."""
    rows = rows[rows["variant"] == variant]
    saved = rows.groupby(["gpu", "M", "N"])["saved_us"].median().sort_values()
    lowest, highest = saved.iloc[[0, -1]]
    places = saved.index[[0, -1]]
    low_place, high_place = (f"({gpu.upper()}, {m}x{n})" for gpu, m, n in places)
    if highest <= 0:
        return (
            f"{variant} saves nothing: torch is faster at {_all(len(saved))}, "
            f"by up to {_us(-lowest)} per call {low_place}"
        )
    if lowest < 0:
        return (
            f"{variant} saves up to {_us(highest)} of GPU time per call over torch {high_place}, "
            f"and costs up to {_us(-lowest)} more {low_place}"
        )
    if len(saved) == 1:
        return f"{variant} saves {_us(highest)} of GPU time per call over torch {high_place}"
    return (
        f"{variant} saves {_us(lowest)} {low_place} to {_us(highest)} {high_place} "
        "of GPU time per call over torch"
    )


def reach(rows: pd.DataFrame) -> str:
    """Say how near the best kernel stays to the speed of a copy, and how far torch falls."""
    shares = _named(rows).pivot_table("of_copy", SHAPE, "variant", aggfunc="median")
    timed = shares.notna().mean()
    lowest = shares.loc[:, timed >= OFTEN].min()
    first = palette.most_first(lowest)[0]
    of_m = f"every measured N (M = {rows['M'].iloc[0]})"
    every = of_m if rows["M"].nunique() == 1 else "every measured size"
    where = f"at {every}" if timed[first] == 1 else "wherever it was timed"
    share = f"at least {int(100 * lowest[first])} % of a copy's speed {where}"
    if first == TORCH:
        return f"torch keeps {share}, and no kernel keeps more"
    behind = f"; torch falls to {percent(lowest[TORCH])}" if TORCH in lowest else ""
    return f"{first} keeps {share}{behind}"


def profile(behind: pd.DataFrame, near: float, baselines: Collection[str]) -> str:
    """Say which kernel is most often within `near` of the fastest; `behind`: of ranking.profile."""
    behind = behind.rename(columns=dict.fromkeys(baselines, TORCH))
    behind = behind.loc[:, behind.notna().mean() >= OFTEN]
    shares = (behind <= 1 + near).sum() / behind.notna().sum()
    first, *slower = palette.most_first(shares)
    place = (
        f"within {percent(near)} of the fastest at {percent(shares[first])} of {len(behind)} shapes"
    )
    if not slower:
        return f"{first} is {place}"
    second = slower[0]
    if shares[second] == shares[first]:
        return f"{first} and {second} are each {place}"
    runs = np.isfinite(behind[second])
    of_these = (behind[second][runs] <= 1 + near).mean()
    reason = f" ({percent(of_these)} of the {runs.sum()} that it runs)" if not runs.all() else ""
    return f"{first} is {place}, {second} at {percent(shares[second])}{reason}"


def lead(leads: pd.DataFrame, variant: str) -> str:
    """Say where `variant` leads its best rival; `leads`: of `ranking.leads`."""
    if leads.empty:
        return f"{variant} was timed beside torch alone"
    sizes, ties = len(leads), int(leads["tie"].sum())
    losses = leads.loc[~leads["tie"] & (leads["lead"] < 1), "lead"]
    if losses.empty:
        return (
            f"{variant} loses nowhere: of {counted(sizes, 'size')} with a rival "
            f"it leads at {sizes - ties} and ties at {ties}"
        )
    behind = _longer(1 / losses.min())
    if len(losses) == sizes:
        return f"{variant} loses at {_all(sizes)} with a rival, and takes up to {behind}"
    return (
        f"{variant} leads or ties at {sizes - len(losses)} of {sizes} sizes with a rival; "
        f"elsewhere it takes up to {behind}"
    )


def agreement(ratios: pd.DataFrame, base: str) -> str:
    """Say whether measured speeds over `base` agree with the published ones.

    `ratios`: a line per variant and size; columns (`published` or another origin, GPU).
    """
    subject = " and ".join(dict.fromkeys(ratios.index.get_level_values("variant")))
    published = ratios["published"].iloc[:, 0]
    measured = ratios.drop(columns="published", level=0)
    quotients = measured.div(published, axis=0).stack([0, 1]).dropna()
    is_turned = measured.gt(1).ne(published.gt(1), axis=0)[measured.notna()].stack([0, 1]).dropna()
    if quotients.empty:
        return f"{subject} is published, and was not measured"
    close, points = int(quotients.between(1 - AGREES, 1 + AGREES).sum()), len(quotients)
    near = f"within {percent(AGREES)} of the article's"
    if close == points:
        return f"{subject} over {base}: every measured ratio is {near}"
    if turned := int(is_turned.astype(bool).sum()):
        return f"{subject} over {base} turns out the other way at {turned} of {points} points"
    verb = "beats" if (published > 1).all() else "compares with"
    ratios_are = "ratio is" if points == 1 else "ratios is" if close == 1 else "ratios are"
    return f"{subject} {verb} {base} as published; {close} of {points} {ratios_are} {near}"


def _speeds(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line per GPU and size and a column per variant: the speed, NaN where none is."""
    is_paired = rows["speedup"].notna().all()
    speed = rows["speedup"] if is_paired else 1 / rows["time_us"]
    return _named(rows).assign(speed=speed).pivot_table("speed", SHAPE, "variant", aggfunc="median")


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with torch's own functions under the name that sentences give them."""
    return rows.assign(variant=rows["variant"].mask(is_baseline(rows), TORCH))


def _change(is_fastest: pd.DataFrame, is_timed: pd.DataFrame) -> str:
    """Return a sentence if one kernel is the fastest up to some N, and another one beyond.

    Both are timed at all sizes, so that none has won because the other one was absent.
    """
    is_fastest = is_fastest.loc[:, is_timed.all()]
    n = is_fastest.index.get_level_values("N")
    for first in is_fastest.columns[is_fastest.any()]:
        border = n[is_fastest[first]].max()
        beyond = is_fastest[n > border]
        if len(beyond) and is_fastest.loc[n <= border, first].all():
            for second in beyond.columns[beyond.all()]:
                return f"{first} is the fastest up to {border:,} columns, {second} beyond"
    return ""


def _all(sizes: int, word: str = "size") -> str:
    return {1: f"the only {word}", 2: f"both {word}s"}.get(sizes, f"all {sizes} {word}s")


def _longer(ratio: float) -> str:
    """Return `5.5 % longer` or, from twice the time on, `2.4 times as long`."""
    if ratio >= 2:
        return f"{_times(ratio)} as long"
    return f"{percent(ratio - 1, 0 if ratio >= 1.1 else 1)} longer"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{number(ratio, 2)} times"


def _us(value: float) -> str:
    return f"{number(value / 1000, 2)} ms" if value >= 1000 else f"{number(value, 2)} µs"
