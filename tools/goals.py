"""Count how often `frontier` reaches its goals, and say what carries over from one GPU to another.

`tools.results` prints what these functions return.
"""

import functools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import pandas as pd

from analysis import claims, palette, published, ranking, stats
from analysis.claims.reproduction import NO_DATA, OPEN
from analysis.frame import is_baseline, once
from analysis.markdown import counted, number, percent, table, with_interval
from analysis.report import trust
from analysis.schema import SIZE
from analysis.stats import Estimate, spread
from measure import ROOT
from tools import record
from tools.inserts import bullets

OURS, TORCH = ranking.OURS, "torch_softmax"
LEVEL_WITH, NEAR = 1 + stats.TIE, 1.04  # times over the fastest
AA_GOAL = 0.03, 0.07  # share of A/A intervals that exclude 1; 0.05 is chance
MIN_PROCESSES = 100  # A share of fewer says little about the goal.
MOST_LOSSES = 5  # that are named
SHARE = 0.95  # share of the sizes that most goals ask for
# What the intervals of geometric means leave out.
OF_THESE = (
    "the intervals cover only these sizes, boards and days; expect larger differences elsewhere"
)
BYTES = 1e3  # Bytes that 1 GB/s moves in 1 µs.
LARGE = 128e6  # bytes that a call moves; far beyond every L2
FEW_ROWS = 64
VALUE = ["value", "low", "high"]
CLAIM = ["gpu", "claim", "quantity", "sweep"]
ALL, CLAIMED = "all", "float32"  # the dtype of the articles


class Goals(NamedTuple):
    """Say what a kernel should reach at most of the sizes."""

    kernel: str
    of_roofline: float  # the share of a copy's or a read's speed, of calls of LARGE bytes
    of_meeting: float  # the share of the second roofline, of few long rows
    long_row: int  # the fewest columns of a long row


SOFTMAX_GOALS = Goals(OURS, 0.95, 0.95, 65536)
LOGITS_GOALS = Goals("frontier_logits", 0.97, 0.90, 32768)
HEADS = ("GPU", "sweeps", "dtype", "at most 1 % behind", "at most 4 %", "furthest behind")
HEADS += ("128 MB and more: 0.95 of the copy", "few long rows: 0.95 of the second roofline")
HEADS += ("fits in L2: at most 1 % behind the best peer",)
GOAL = ("goal", "", "", percent(SHARE), "100 %", "", percent(SHARE), percent(SHARE), "100 %")
LOGITS_HEADS = ("GPU", "operation", "dtype", *HEADS[3:6], "128 MB and more: 0.97 of the roofline")
LOGITS_HEADS += ("few long rows: 0.90 of the second roofline",)
LOGITS_GOAL = ("goal", "", "", *GOAL[3:8])


def reached(ranks: pd.DataFrame, goals: Goals = SOFTMAX_GOALS) -> dict[str, pd.DataFrame]:
    """Return goal -> the sizes of `ranks` that it is for; `ranks` is of `rank_variants`.

    level, near: the time over that of the fastest, where a rival besides torch ranks; a part of
    the kernel is none. copy: the share of the roofline, from LARGE bytes on. meet: the share
    of the second roofline, of few long rows. cached: the time over that of the fastest peer, where
    a call's buffers fit in L2.

    A size of several sweeps or inputs counts once. The index is the size, the one furthest from the
    goal first. The columns are the `value`, the ends of its 95 % interval, NaN where it has none,
    and whether it has `met` the goal.
    """
    sizes = ranking.over_sweeps(ranks)
    own = sizes[sizes["variant"] == goals.kernel].set_index(SIZE)
    m, n = (own.index.get_level_values(name) for name in ("M", "N"))
    large = own["throughput_gbps"] * own["time_us"] * BYTES >= LARGE
    few = (m <= FEW_ROWS) & (n >= goals.long_row)
    behind = ranking.profile(ranks).reindex(columns=[goals.kernel])
    is_other = ranks["variant"].map(ranking.contestant) != ranking.contestant(goals.kernel)
    rivals = ranks[ranks["rank"].notna() & ~is_baseline(ranks) & is_other]
    behind = behind[behind.index.isin(pd.MultiIndex.from_frame(rivals[SIZE]))]
    behind = behind.join(own[["behind_low", "behind_high"]])
    warm = ranks[ranks["warm_us"].notna()]
    peers = {name for name in warm["variant"] if name.startswith("peer_")}
    over_peers = leads(warm, peers, goals.kernel)
    ratios = {size: Estimate(0.0).over(lead) for size, lead in over_peers.items()}
    cached = [(ratio.value, *ratio.interval) for ratio in ratios.values()]
    sizes_with_peers = pd.MultiIndex.from_tuples(ratios, names=SIZE)
    return {
        "level": _judged(behind, highest=LEVEL_WITH),
        "near": _judged(behind, highest=NEAR),
        "copy": _judged(own.loc[large, ["of_copy"]], lowest=goals.of_roofline),
        "meet": _judged(own.loc[few, ["of_meet"]], lowest=goals.of_meeting),
        "cached": _judged(pd.DataFrame(cached, sizes_with_peers, range(3)), highest=LEVEL_WITH),
    }


def _judged(judged: pd.DataFrame, lowest: float = 0.0, highest: float = math.inf) -> pd.DataFrame:
    """Judge the first column, the value; only one of the limits is given."""
    judged = judged.set_axis(VALUE[: judged.shape[1]], axis=1).reindex(columns=VALUE)
    judged = judged.dropna(subset="value").sort_values("value", ascending=lowest > 0, kind="stable")
    return judged.assign(met=judged["value"].between(lowest, highest))


def leads(
    ranks: pd.DataFrame, rivals: Collection[str], kernel: str = OURS
) -> dict[tuple, Estimate]:
    """Return size -> the speed of `kernel` over the fastest of `rivals`, where both rank.

    Both are of one matrix and board; several matrices of a size, of two inputs or boards, count as
    one, by their mean. torch is timed beside every variant, so it needs no row.
    """
    ranks = once(ranks[ranks["rank"].notna()]).sort_values("log")
    matrix = [*SIZE, "distribution", "gpu_uuid"]
    competing = ranks[ranks["variant"].isin(rivals)].drop_duplicates(matrix, keep="last")
    best = {where: stats.estimate(row) for where, row in competing.set_index(matrix).iterrows()}
    estimates = defaultdict(list)
    for where, row in ranks[ranks["variant"] == kernel].set_index(matrix).iterrows():
        if rival := Estimate(0.0) if set(rivals) == {TORCH} else best.get(where):
            estimates[where[: len(SIZE)]].append(stats.estimate(row).over(rival))
    return {size: stats.geometric_mean(several) for size, several in estimates.items()}


def order(rows: pd.DataFrame) -> list[str]:
    """Return the recorded GPUs: those with the most of `make record` first, then the newest."""
    newest = rows.groupby("gpu")["started_at"].max().sort_values(ascending=False)
    parts = rows[rows["sweep"].isin(record.SWEEPS)].drop_duplicates(["gpu", "sweep", "replicate"])
    recorded = parts["gpu"].value_counts()
    return sorted(newest.index, key=lambda gpu: -recorded.get(gpu, 0))


def lacking(rows: pd.DataFrame, gpu: str) -> list[str]:
    """Return the standard sweeps that a GPU has no rows of."""
    recorded = set(rows.loc[rows["gpu"] == gpu, "sweep"])
    return [sweep for sweep in record.SWEEPS if sweep not in recorded]


def point(size: Mapping) -> str:
    """Return the shape, the dtype, and the operation that is not softmax."""
    operation = "" if size["op"] == "softmax" else f" ({size['op']})"
    return f"{size['M']}x{size['N']} in {size['dtype']}{operation}"


@functools.cache
def literature() -> published.Published:
    """Return the published tables, which are read once."""
    return published.load(ROOT / "data/published")


def checked_claims(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the claims as checked on the recorded rows in float32.

    `own_table`: the verdict on the source's own table, whether its words agree with its numbers.
    """
    checked, key = claims.check(rows, literature()), ["claim", "quantity"]
    own_tables = checked[checked["origin"] == "published"].set_index(key)["verdict"]
    measured = checked.query("dtype == @CLAIMED and origin == 'recorded'")
    return measured.join(own_tables.rename("own_table"), on=key)


def changed_claims(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the claims whose verdict one replicate alone changes, once for each of these.

    `alone`: the verdict from `replicate` alone.
    """
    rows = rows[(rows["dtype"] == CLAIMED) & (rows["origin"] == "recorded")]
    rows = rows[rows.groupby("gpu")["replicate"].transform("max") > 1]
    every, parts = checked_claims(rows).set_index(CLAIM)["verdict"], []
    for replicate, part in rows.groupby("replicate"):
        alone = checked_claims(part).set_index(CLAIM)["verdict"].rename("alone")
        verdicts = pd.concat([every, alone], axis=1, join="inner")
        changed = verdicts[verdicts["verdict"] != verdicts["alone"]]
        parts.append(changed.assign(replicate=int(replicate)))
    return pd.concat(parts).reset_index() if parts else pd.DataFrame(columns=CLAIM)


def best_on_both(ranks: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Return the best sets of two GPUs, a line for each size with a winner on both.

    The columns are the GPUs, and the fastest variant comes first; `same`: the sets share a variant.
    A variant that ranks on one of the GPUs only is left out, and so is a size whose best set on one
    GPU has no other.
    """
    key, rows = [name for name in SIZE if name != "gpu"], ranking.over_sweeps(ranks)
    rows = rows[rows["gpu"].isin([first, second])].sort_values("rank")
    rows = rows[rows.groupby([*key, "variant"])["gpu"].transform("nunique") > 1]
    best = rows[rows["in_best_set"]].groupby([*key, "gpu"])["variant"].agg(list)
    best = best.unstack("gpu").reindex(columns=[first, second]).dropna()
    share_one = [not set(one).isdisjoint(two) for one, two in best.itertuples(index=False)]
    return best.assign(same=pd.Series(share_one, best.index, dtype=bool))


def mean_of(estimates: Collection[Estimate]) -> str:
    """Return the geometric mean of some `leads`, with its interval."""
    mean = stats.geometric_mean(estimates)
    return with_interval(mean.value, *mean.interval)


def rivals(rows: pd.DataFrame) -> str:
    """Return where `frontier` wins, ties and loses against torch and each peer, by GPU."""
    ranks, lines = ranking.rank_variants(rows), []
    for gpu in order(rows):
        own = ranks[ranks["gpu"] == gpu]
        peers = {name for name in own["variant"] if name.startswith("peer_")}
        for rival in (TORCH, *sorted(peers, key=palette.order)):
            if estimates := leads(own, {rival}).values():
                ends = [lead.bounds for lead in estimates]
                won, lost = sum(low > 1 for low, _ in ends), sum(high < 1 for _, high in ends)
                counts = len(ends), won, len(ends) - won - lost, lost
                lines.append([gpu.upper(), f"`{rival}`", *counts, mean_of(estimates)])
    return table(("GPU", "rival", "sizes", "won", "tied", "lost", "geometric mean"), lines)


def goal_table(rows: pd.DataFrame) -> str:
    """Return how many sizes reach each goal, by GPU and dtype, and the bullets of `_facts`."""
    ranks, goals = ranking.rank_variants(rows), {}
    for gpu in order(rows):
        own = ranks[ranks["gpu"] == gpu]
        for sweeps, part in ((ALL, own), ("`random`", own[own["sweep"] == "random"])):
            of_dtypes = {ALL: part, **dict(iter(part.groupby("dtype")))} if len(part) else {}
            goals |= {(gpu, sweeps, dtype): reached(sizes) for dtype, sizes in of_dtypes.items()}
    lines = [
        [gpu.upper(), *place, *_cells(**sizes)]
        for (gpu, *place), sizes in goals.items()
        if any(map(len, sizes.values()))
    ]
    return f"{table(HEADS, [GOAL, *lines])}\n\n{bullets(_facts(rows, goals))}"


def logits_table(rows: pd.DataFrame) -> str:
    """Return how many sizes of each function of logits reach each goal, and all losses."""
    ranks, lines, losses = ranking.rank_variants(rows), [], []
    ops = ranks.loc[ranks["variant"] == LOGITS_GOALS.kernel, "op"].unique()
    for gpu in order(rows):
        own = ranks[(ranks["gpu"] == gpu) & ranks["op"].isin(ops)]
        for (op, dtype), part in own.groupby(["op", "dtype"]):
            sizes = reached(part, LOGITS_GOALS)
            del sizes["cached"]
            lines.append([gpu.upper(), f"`{op}`", dtype, *_cells(**sizes)])
            lost = sizes["level"][~sizes["level"]["met"]]
            lost = lost.reset_index().itertuples()
            named = [f"{number(size.value, 3)} at {size.M}x{size.N}" for size in lost]
            if named:
                losses.append(f"{gpu.upper()}, `{op}` in {dtype}: {', '.join(named)}.")
    return f"{table(LOGITS_HEADS, [LOGITS_GOAL, *lines])}\n\n{bullets(losses)}"


def _cells(level: pd.DataFrame, near: pd.DataFrame, **further: pd.DataFrame) -> list[str]:
    shares = (f"{share(sizes)}{furthest(sizes, '; ')}" for sizes in further.values())
    return [share(level), share(near), furthest(near), *shares]


def share(sizes: pd.DataFrame) -> str:
    """Return which share of the sizes of `reached` reaches a goal."""
    return f"{percent(sizes['met'].mean(), 1)} of {len(sizes)}" if len(sizes) else "no rows"


def furthest(sizes: pd.DataFrame, lead: str = "") -> str:
    """Return the value furthest from a goal, and where that is; "" without sizes."""
    return lead * (len(sizes) > 0) + "".join(values(sizes[:1]))


def values(sizes: pd.DataFrame) -> list[str]:
    """Return the value of each size, and the size."""
    sizes = sizes.reset_index().to_dict("records")
    return [f"{with_interval(*(size[end] for end in VALUE))} at {point(size)}" for size in sizes]


def _facts(rows: pd.DataFrame, goals: dict) -> Iterable[str]:
    """Yield all losses, and the goals of every GPU that are no share of sizes."""
    changed = changed_claims(rows)
    for gpu in order(rows):
        part = rows[rows["gpu"] == gpu]
        level = goals[gpu, ALL, ALL]["level"]
        lost = level[~level["met"]]
        named = ", ".join(values(lost[:MOST_LOSSES]))
        if len(lost) > MOST_LOSSES:
            most = number(lost["value"].iloc[MOST_LOSSES], 4)
            others = counted(len(lost) - MOST_LOSSES, "other size")
            named += f", and at most {most} at {others}"
        yield (
            f"{gpu.upper()}: `frontier` is more than 1 % behind, in times of the fastest: "
            f"{named or 'nowhere'}."
        )
        ok = part[part["status"] == "ok"]
        aa = spread.aa_controls(ok).groupby("op")["excludes"].agg(["mean", "size"])
        low, high = AA_GOAL
        shares = ", ".join(
            f"`{op}` {percent(excluded, 1)}{_beside_goal(excluded, processes)}"
            for op, excluded, processes in aa.itertuples()
        )
        yield (
            f"{gpu.upper()}: share of processes in which torch differs significantly from itself "
            f"(5 % is chance; goal {percent(low)} to {percent(high)}): {shares}."
        )
        yield from (f"{caution}." for caution in trust.biased(ok))
        if part["replicate"].max() < 2:
            yield f"{gpu.upper()}: one replicate, so no verdict on a claim was repeated."
            continue
        alike = changed[changed["gpu"] == gpu].groupby([*CLAIM[1:3], "verdict", "alone"])
        differ = "; ".join(
            f"{claim}, {quantity}: {verdict}; it would be {alone} by process "
            f"{' or '.join(map(str, by))} alone"
            for (claim, quantity, verdict, alone), by in alike["replicate"]
        )
        yield f"{gpu.upper()}: claims whose verdict depends on the replicate: {differ or 'none'}."


def _beside_goal(share_excluded: float, processes: int) -> str:
    """Return what a share of A/A intervals says about AA_GOAL; "" if it meets it."""
    if processes < MIN_PROCESSES:
        return f" (of {processes})"
    low, high = AA_GOAL
    return "" if low <= share_excluded <= high else " (missed)"


def carries(rows: pd.DataFrame) -> str:
    """Return how many verdicts and winners are the same on two GPUs, and all that are not."""
    first, *further = order(rows)
    if not further:
        return f"Only the {first.upper()} is recorded: what carries over is not known."
    ranks, verdicts = ranking.rank_variants(rows), checked_claims(rows)
    lines = [line for second in further for line in _differences(ranks, verdicts, first, second)]
    old = rows.groupby("gpu")["stale"].agg(lambda stale: (stale == "true").all())
    if old.any() and not old.all():
        which = ", ".join(map(str.upper, old.index[old]))
        lines.insert(0, f"Older code measured all rows of {which}: a difference may be the code's.")
    return bullets(lines)


def _differences(
    ranks: pd.DataFrame, verdicts: pd.DataFrame, first: str, second: str
) -> Iterable[str]:
    """Yield the share that agrees, and each difference."""
    key, names = ["claim", "quantity"], f"{first.upper()} and {second.upper()}"
    by = verdicts.drop_duplicates([*key, "gpu"]).set_index([*key, "gpu"])["verdict"].unstack("gpu")
    decided = by.reindex(columns=[first, second]).replace(NO_DATA, None).dropna()
    differ = decided[decided[first] != decided[second]]
    undecided = (decided == OPEN).all(axis=1).sum()
    alike = len(decided) - len(differ) - undecided
    yield (
        f"{names}: {counted(len(decided), 'claim')} judged on both. Same verdict: {alike}. Open on "
        f"both: {undecided}. Different verdicts: {len(differ)}."
    )
    for (claim, quantity), sides in differ.iterrows():
        opposed = ", ".join(f"{sides[gpu]} on {gpu.upper()}" for gpu in (first, second))
        yield f"{claim}, {quantity}: {opposed}."
    best = best_on_both(ranks, first, second)
    sizes = f"{best['same'].sum()} of {counted(len(best), 'size')}"
    ours = best[[first, second]].map(lambda names: OURS in names).all(axis=1).sum()
    competes = best.reset_index()["op"].isin(ranks.loc[ranks["variant"] == OURS, "op"]).sum()
    yield (
        f"{names}: {sizes} with a winner on both have a best kernel in common. `{OURS}` is among "
        f"the best on both at {ours} of the {competes} sizes of its operations."
    )
    apart = best.loc[~best["same"], [first, second]].map(lambda names: names[0]).reset_index()
    for (one, two), part in apart.groupby([first, second]):
        points = ", ".join(point(row) for _, row in part.iterrows())
        yield (
            f"Different winners, `{one}` on {first.upper()} and `{two}` on {second.upper()}: "
            f"{points}."
        )
