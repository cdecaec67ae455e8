"""Count how often this project's kernels reach their goals, and how often they beat each rival.

`tools.results` and `tools.readme` print it.
"""

from collections.abc import Iterable, Mapping
from statistics import geometric_mean
from typing import NamedTuple

import pandas as pd

from analysis import palette, ranking, stats
from analysis.frame import is_baseline
from analysis.markdown import counted, number, percent, table
from analysis.schema import SIZE
from tools import record
from tools.inserts import bullets

OURS, OURS_OF_LOGITS, TORCH = ranking.OURS, "frontier_logits", "torch_softmax"
LEVEL = 1 + stats.TIE  # times as fast; a smaller lead counts as none
BYTES = 1e3  # Bytes that 1 GB/s moves in 1 µs.
LARGE = 128e6  # bytes that a call moves; far beyond every L2
FEW_ROWS = 64
MOST_LOSSES = 10  # that are named


class Goal(NamedTuple):
    """Say what a kernel should reach, and at which share of the sizes.

    `limit`: times the time of the fastest kernel, at most; below 1 a share of the roofline, at
    least.
    """

    head: str
    limit: float
    share: float


LEVEL_GOAL, NEAR_GOAL = Goal("at most 1 % behind", LEVEL, 0.95), Goal("at most 4 %", 1.04, 1)
FEW_LONG = "few long rows: {} of the second roofline"
# Kernel -> the goals by the names that `reached` gives them.
GOALS = {
    OURS: {
        "level": LEVEL_GOAL,
        "near": NEAR_GOAL,
        "cached": Goal("fits in L2: at most 1 % behind", LEVEL, 1),
        "copy": Goal("128 MB and more: 0.95 of a copy", 0.95, 0.95),
        "meet": Goal(FEW_LONG.format("0.95"), 0.95, 0.95),
    },
    OURS_OF_LOGITS: {
        "level": LEVEL_GOAL,
        "near": NEAR_GOAL,
        "copy": Goal("128 MB and more: 0.97 of the roofline", 0.97, 0.95),
        "meet": Goal(FEW_LONG.format("0.90"), 0.90, 0.95),
    },
}
LONG_ROW = {OURS: 65536, OURS_OF_LOGITS: 32768}  # the fewest columns of a long row


def reached(ranks: pd.DataFrame, kernel: str = OURS) -> dict[str, pd.DataFrame]:
    """Return goal -> the sizes that it is for, with the `value`, and whether it `met` the goal.

    level, near: the time over that of the fastest, where a rival besides torch ranks; a part of
    the kernel is none. cached: the same, where a call's buffers fit in L2. copy: the share of the
    roofline, from LARGE bytes on. meet: the share of the second roofline, of few long rows.

    A size of several sweeps or inputs counts once. The index is the size, the one furthest from the
    goal first. `ranks` is of `rank_variants`.
    """
    sizes = ranking.over_sweeps(ranks)
    own = sizes[sizes["variant"] == kernel].set_index(SIZE)
    m, n = (own.index.get_level_values(name) for name in ("M", "N"))
    large = own["throughput_gbps"] * own["time_us"] * BYTES >= LARGE
    few = (m <= FEW_ROWS) & (n >= LONG_ROW[kernel])
    behind = ranking.profile(ranks).reindex(columns=[kernel])[kernel]
    is_other = sizes["variant"].map(ranking.contestant) != ranking.contestant(kernel)
    raced = pd.MultiIndex.from_frame(sizes.loc[is_other & ~is_baseline(sizes), SIZE])
    behind = behind[behind.index.isin(raced)]
    values = {
        "level": behind,
        "near": behind,
        "cached": behind[behind.index.isin(own.index[own["warm_us"].notna()])],
        "copy": own.loc[large, "of_copy"],
        "meet": own.loc[few, "of_meet"],
    }
    return {name: _judged(values[name].dropna(), goal) for name, goal in GOALS[kernel].items()}


def _judged(values: pd.Series, goal: Goal) -> pd.DataFrame:
    of_time = goal.limit >= 1
    values = values.sort_values(ascending=not of_time, kind="stable")
    met = values <= goal.limit if of_time else values >= goal.limit
    return pd.DataFrame({"value": values, "met": met})


def leads(sizes: pd.DataFrame, rival: str) -> pd.Series:
    """Return size -> how many times as fast as one rival `frontier` is; see `ranking.leads`."""
    if rival == TORCH:  # timed beside every variant, it needs no row
        return sizes[sizes["variant"] == OURS].set_index(SIZE)["speedup"]
    pair = sizes[sizes["variant"].isin((OURS, rival))]
    return ranking.leads(pair, OURS, against_torch=False)["lead"]


def age(ranks: pd.DataFrame, kernel: str) -> str:
    """Return a sentence if an older version of a kernel was timed at some sizes, or ""."""
    older = (ranks.loc[ranks["variant"] == kernel, "stale"] == "true").mean()
    if not older > 0:  # NaN: has no rows
        return ""
    share = "All" if older == 1 else f"{percent(older)} of the"
    return f" {share} times of `{kernel}` here are those of an older version of it."


def over_peers(sizes: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the kernels of other projects that `frontier` has raced, with its `leads`."""
    peers = {name for name in sizes["variant"] if name.startswith("peer_")}
    races = {peer: leads(sizes, peer) for peer in sorted(peers, key=palette.order)}
    return {peer: lead for peer, lead in races.items() if len(lead)}


def won_and_lost(lead: pd.Series) -> tuple[int, int]:
    """Return at how many sizes a kernel is more than 1 % faster, and more than 1 % slower."""
    return int((lead > LEVEL).sum()), int((lead < 1 / LEVEL).sum())


def order(rows: pd.DataFrame) -> list[str]:
    """Return the recorded GPUs: those with the most of `make record` first, then the newest."""
    newest = rows.groupby("gpu")["started_at"].max().sort_values(ascending=False)
    parts = rows[rows["sweep"].isin(record.SWEEPS)].drop_duplicates(["gpu", "sweep", "replicate"])
    recorded = parts["gpu"].value_counts()
    return sorted(newest.index, key=lambda gpu: -recorded.get(gpu, 0))


def point(size: Mapping) -> str:
    """Return the shape, the dtype, and the operation that is not softmax."""
    operation = "" if size["op"] == "softmax" else f" ({size['op']})"
    return f"{size['M']}x{size['N']} in {size['dtype']}{operation}"


def places(sizes: pd.DataFrame) -> list[str]:
    """Return the value of each size of `reached`, and where that is."""
    sizes = sizes.reset_index().to_dict("records")
    return [f"{number(size['value'], 3)} at {point(size)}" for size in sizes]


def rivals(rows: pd.DataFrame) -> str:
    """Return at how many sizes `frontier` is faster and slower than torch and each peer, by GPU."""
    sizes, lines = ranking.over_sweeps(ranking.rank_variants(rows)), []
    for gpu in order(rows):
        own = sizes[sizes["gpu"] == gpu]
        for rival, lead in ({TORCH: leads(own, TORCH)} | over_peers(own)).items():
            if len(lead):
                won, lost = won_and_lost(lead)
                counts = len(lead), won, len(lead) - won - lost, lost
                means = geometric_mean(lead), lead.min()
                lines.append([gpu.upper(), f"`{rival}`", *counts, *(number(x, 3) for x in means)])
    heads = ("GPU", "rival", "sizes", "more than 1 % faster", "within 1 %", "more than 1 % slower")
    return table((*heads, "times as fast, geometric mean", "least"), lines)


def goal_table(rows: pd.DataFrame, kernel: str = OURS) -> str:
    """Return how many sizes reach each goal, by GPU and part, and the largest losses."""
    ranks, lines, losses = ranking.rank_variants(rows), [], []
    ranks = ranks[ranks["op"].isin(ranks.loc[ranks["variant"] == kernel, "op"])]
    for gpu in order(rows):
        own = ranks[ranks["gpu"] == gpu]
        for part, sizes in _parts(own):
            goals = reached(sizes, kernel)
            if any(map(len, goals.values())):
                lines.append([gpu.upper(), part, *(_cell(*goal) for goal in goals.items())])
        lost = _losses(reached(own, kernel)["level"])
        losses.append(
            f"{gpu.upper()}, more than 1 % behind, time as a multiple of the fastest kernel's: "
            f"{lost}.{age(own, kernel)}"
        )
    goals = GOALS[kernel].values()
    shares = ["goal", "", *(percent(goal.share) for goal in goals)]
    heads = ["GPU", "sizes", *(goal.head for goal in goals)]
    return f"{table(heads, [shares, *lines])}\n\n{bullets(losses)}"


def _parts(ranks: pd.DataFrame) -> Iterable[tuple[str, pd.DataFrame]]:
    yield "all", ranks
    yield "random shapes", ranks[ranks["sweep"].str.startswith("random")]
    for (op, dtype), part in ranks.groupby(["op", "dtype"]):
        yield f"`{op}`, {dtype}", part


def _cell(name: str, sizes: pd.DataFrame) -> str:
    if sizes.empty:
        return "no rows"
    met = sizes["met"]
    few = len(met) < ranking.MIN_MATRICES
    share = f"{met.sum() if few else percent(met.mean(), 1)} of {len(met)}"
    return share if name == "near" else f"{share}; {places(sizes[:1])[0]}"  # level names it


def _losses(level: pd.DataFrame) -> str:
    lost = level[~level["met"]]
    named = ", ".join(places(lost[:MOST_LOSSES])) or "none"
    if len(lost) > MOST_LOSSES:
        most = number(lost["value"].iloc[MOST_LOSSES], 3)
        named += f", and at most {most} at {counted(len(lost) - MOST_LOSSES, 'other size')}"
    return named
