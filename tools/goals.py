"""Count how often this project's kernels reach their goals, and how often they beat each rival."""

from collections.abc import Iterable
from statistics import geometric_mean
from typing import NamedTuple

import pandas as pd

from analysis import palette, ranking, stats
from analysis.frame import is_baseline
from analysis.markdown import counted, number, percent, table
from analysis.schema import SIZE
from tools import record

OURS, OURS_OF_LOGITS, TORCH = ranking.OURS, "frontier_logits", "torch_softmax"
LEVEL = 1 + stats.TIE  # times as fast; a smaller lead counts as none
BYTES = 1e3  # Bytes that 1 GB/s moves in 1 µs.
LARGE = 128e6  # bytes that a call moves; far beyond every L2
FEW_ROWS = 64
MOST_LOSSES = 10  # sizes in a table of the worst cases


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
# Kernel -> its goals, by the names that `judged_sizes` gives them.
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


def judged_sizes(ranks: pd.DataFrame, kernel: str = OURS) -> dict[str, pd.DataFrame]:
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


def over_peers(sizes: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the kernels of other projects that `frontier` has raced, with its `leads`."""
    peers = {name for name in sizes["variant"] if name.startswith("peer_")}
    races = {peer: leads(sizes, peer) for peer in sorted(peers, key=palette.order)}
    return {peer: lead for peer, lead in races.items() if len(lead)}


def won_and_lost(lead: pd.Series) -> tuple[int, int]:
    """Return at how many sizes a kernel is more than 1 % faster, and more than 1 % slower."""
    return int((lead > LEVEL).sum()), int((lead < 1 / LEVEL).sum())


def tally(wins: pd.Series, verb: str = "") -> str:
    """Return "`a` VERB at 5, `b` at 2" from ``ranking.wins``; "" for none."""
    text = ", ".join(f"`{name}` at {count}" for name, count in wins.items())
    return text.replace(" at ", f" {verb} at ", 1) if verb else text


def order(rows: pd.DataFrame) -> list[str]:
    """Return the recorded GPUs: those with the most of `make record` first, then the newest."""
    newest = rows.groupby("gpu")["started_at"].max().sort_values(ascending=False)
    parts = rows[rows["sweep"].isin(record.SWEEPS)].drop_duplicates(["gpu", "sweep", "replicate"])
    recorded = parts["gpu"].value_counts()
    return sorted(newest.index, key=lambda gpu: -recorded.get(gpu, 0))


def size_name(op: str, dtype: str, m: int, n: int) -> str:
    """Return a size as tables and sentences name it."""
    return f"{op}, {m}x{n}, {dtype}"


def rivals(rows: pd.DataFrame) -> str:
    """Return at how many sizes `frontier` is faster and slower than torch and each peer."""
    sizes, lines = ranking.over_sweeps(ranking.rank_variants(rows)), []
    peers, losses = over_peers(sizes), {}
    for rival, lead in ({TORCH: leads(sizes, TORCH)} | peers).items():
        if len(lead):
            won, lost = won_and_lost(lead)
            if rival in peers:
                losses[rival] = lost
            means = number(geometric_mean(lead), 3), number(lead.min(), 3)
            lines.append([f"`{rival}`", len(lead), won, len(lead) - won - lost, lost, *means])
    heads = (
        "rival",
        "sizes",
        f"`{OURS}` more than 1 % faster",
        "within 1 %",
        "more than 1 % slower",
    )
    text = table((*heads, f"speed of `{OURS}` over it, geometric mean", "least"), lines)
    if not any(losses.values()):
        return f"`{OURS}` is more than 1 % slower than a rival nowhere.\n\n{text}"
    rival = max(losses, key=losses.get)
    return (
        f"of these, `{rival}` beats `{OURS}` most often, by more than 1 % at {losses[rival]} "
        f"of {counted(len(peers[rival]), 'size')}.\n\n{text}"
    )


def goal_tables(rows: pd.DataFrame, kernel: str = OURS) -> str:
    """Return how near a kernel is to the fastest, and how many sizes of a GPU reach each goal.

    A table of the worst cases follows.
    """
    ranks, goals = ranking.rank_variants(rows), GOALS[kernel]
    ranks = ranks[ranks["op"].isin(ranks.loc[ranks["variant"] == kernel, "op"])]
    lines = [["goal", *(percent(goal.share) for goal in goals.values())]]
    parts = {part: judged_sizes(own, kernel) for part, own in _parts(ranks)}
    for part, judged in parts.items():
        if any(map(len, judged.values())):
            shares = (_share(judged[name]["met"], goal.share) for name, goal in goals.items())
            lines.append([part, *shares])
    heads = ["sizes", *(goal.head for goal in goals.values())]
    tables = f"{table(heads, lines)}\n\n{_worst_cases(ranks, parts['all'], kernel)}"
    level = parts["all"]["level"]
    if level.empty:
        return f"no rival of `{kernel}` was timed.\n\n{tables}"
    worst = level["value"].iloc[0] - 1
    return (
        f"`{kernel}` is within 1 % of the fastest kernel at {percent(level['met'].mean(), 1)} of "
        f"{counted(len(level), 'size')}, and at worst {percent(worst)} behind.\n\n{tables}"
    )


def _parts(ranks: pd.DataFrame) -> Iterable[tuple[str, pd.DataFrame]]:
    yield "all", ranks
    yield "random shapes", ranks[ranks["sweep"].str.startswith("random")]
    for (op, dtype), part in ranks.groupby(["op", "dtype"]):
        yield f"`{op}`, {dtype}", part


def _share(met: pd.Series, goal: float) -> str:
    if met.empty:
        return "no sizes"
    share = met.sum() if len(met) < ranking.MIN_MATRICES else percent(met.mean(), 1)
    return f"{share} of {len(met)}{' ✗' * bool(met.mean() < goal)}"


def _worst_cases(ranks: pd.DataFrame, judged: dict[str, pd.DataFrame], kernel: str) -> str:
    """Return the largest losses, and the size that is furthest from each goal of bandwidth.

    ``judged``: what ``judged_sizes`` returns for the ranks.
    """
    sizes = ranking.over_sweeps(ranks)
    fastest = sizes[sizes["rank"] == 1].set_index(SIZE)["variant"]
    lines = []
    for name, most in (("level", MOST_LOSSES), ("copy", 1), ("meet", 1)):
        missed = judged[name].loc[~judged[name]["met"], "value"]
        goal = GOALS[kernel][name].head
        lines += [
            [goal, size_name(*size[-4:]), number(value, 3), f"`{fastest[size]}`"]
            for size, value in missed[:most].items()
        ]
        if name == "level" and len(missed) > most:
            others = counted(len(missed) - most, "other size")
            lines.append([goal, others, f"at most {number(missed.iloc[most], 3)}", ""])
    return table(("goal", "size", "reached", "fastest kernel"), lines)
