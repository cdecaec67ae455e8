"""Count how often `frontier` reaches its goals, and compare the GPUs on record."""

import math
from collections.abc import Collection

import pandas as pd

from analysis import claims, ranking, stats
from analysis.published import Published
from analysis.schema import BASELINE, ITEMSIZE, SWEEP_MATRIX
from analysis.stats import Estimate

OURS = "frontier"
LEVEL_WITH, NEAR = 1 + stats.TIE, 1.04  # times over the fastest
OF_ROOFLINE = 0.95
LARGE = 128e6  # bytes that a call moves; far beyond every L2
FEW_ROWS, LONG_ROW = 64, 65536
VALUE = ["value", "low", "high"]
CLAIM = ["gpu", "claim", "quantity", "sweep"]


def reached(ranks: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return goal -> the matrices of `ranks` that it is for; `ranks` is of `rank_variants`.

    level, near: the time over that of the fastest, where there are two competitors. copy: the share
    of the copy bandwidth, from LARGE bytes on. meet: the share of the second roofline, of few long
    rows. cached: the time over that of the fastest peer, where the buffers of a call fit in L2.

    The index is the matrix, the one furthest from the goal first. The columns are the `value`, the
    ends of its 95 % interval, NaN where it has none, and whether it has `met` the goal.
    """
    own = ranks[(ranks["variant"] == OURS) & ranks["rank"].notna()].set_index(SWEEP_MATRIX)
    m, n, dtype = (own.index.get_level_values(name) for name in ("M", "N", "dtype"))
    large = 2 * m * n * dtype.map(ITEMSIZE) >= LARGE
    few = (m <= FEW_ROWS) & (n >= LONG_ROW)
    behind = ranking.profile(ranks).reindex(columns=[OURS])
    behind = behind.join(own[["behind_low", "behind_high"]])
    warm = ranks[ranks["warm_us"].notna()]
    peers = {name for name in warm["variant"] if name.startswith("peer_")}
    ratios = {at: Estimate(0.0).over(lead) for at, lead in leads(warm, peers).items()}
    cached = [(ratio.value, *ratio.interval) for ratio in ratios.values()]
    matrices = pd.MultiIndex.from_tuples(ratios, names=SWEEP_MATRIX)
    return {
        "level": _judged(behind, most=LEVEL_WITH),
        "near": _judged(behind, most=NEAR),
        "copy": _judged(own.loc[large, ["of_copy"]], least=OF_ROOFLINE),
        "meet": _judged(own.loc[few, ["of_meet"]], least=OF_ROOFLINE),
        "cached": _judged(pd.DataFrame(cached, matrices, range(3)), most=LEVEL_WITH),
    }


def _judged(found: pd.DataFrame, least: float = 0.0, most: float = math.inf) -> pd.DataFrame:
    """Judge the first column, the value; only one of the limits is given."""
    found = found.set_axis(VALUE[: found.shape[1]], axis=1).reindex(columns=VALUE)
    found = found.dropna(subset="value").sort_values("value", ascending=least > 0, kind="stable")
    return found.assign(met=found["value"].between(least, most))


def leads(ranks: pd.DataFrame, rivals: Collection[str]) -> dict[tuple, Estimate]:
    """Return matrix -> the speed of `frontier` over the fastest of `rivals`, where both rank.

    torch is timed beside every variant, so it needs no row.
    """
    ranks = ranks[ranks["rank"].notna() & ranks["log"].notna()].sort_values("log")
    own = ranks[ranks["variant"] == OURS].set_index(SWEEP_MATRIX)
    mine = {matrix: stats.estimate(row) for matrix, row in own.iterrows()}
    if set(rivals) == {BASELINE}:
        return mine
    others = ranks[ranks["variant"].isin(rivals)].drop_duplicates(SWEEP_MATRIX, keep="last")
    best = {at: stats.estimate(row) for at, row in others.set_index(SWEEP_MATRIX).iterrows()}
    return {matrix: mine[matrix].over(best[matrix]) for matrix in mine if matrix in best}


def changed_claims(rows: pd.DataFrame, published: Published, dtype: str) -> pd.DataFrame:
    """Return the claims whose verdict one replicate alone changes, once for each such replicate.

    `alone`: the verdict from `replicate` alone.
    """
    rows = rows[(rows["dtype"] == dtype) & (rows["origin"] == "recorded")]
    rows = rows[rows.groupby("gpu")["replicate"].transform("max") > 1]

    def verdicts(of: pd.DataFrame) -> pd.Series:
        found = claims.check(of, published).query("origin == 'recorded'")
        return found.set_index(CLAIM)["verdict"]

    every, parts = verdicts(rows), []
    for replicate, part in rows.groupby("replicate"):
        both = pd.concat([every, verdicts(part).rename("alone")], axis=1, join="inner")
        parts.append(both[both["verdict"] != both["alone"]].assign(replicate=int(replicate)))
    return pd.concat(parts).reset_index() if parts else pd.DataFrame(columns=CLAIM)


def best_on_both(ranks: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Return the best sets of two GPUs, a line for each matrix with competitors on both.

    The columns are the GPUs, and the fastest variant comes first; `same`: the sets share a variant.
    A variant that ranks on one of the GPUs only is left out, and so is a matrix whose best set on
    one GPU has no other.
    """
    key = [name for name in SWEEP_MATRIX if name != "gpu"]
    rows = ranks[ranks["gpu"].isin([first, second]) & ranks["rank"].notna()].sort_values("rank")
    rows = rows[rows["competitors"] > 1]
    rows = rows[rows.groupby([*key, "variant"])["gpu"].transform("nunique") > 1]
    best = rows[rows["in_best_set"]].groupby([*key, "gpu"])["variant"].agg(list)
    best = best.unstack("gpu").reindex(columns=[first, second]).dropna()
    same = [not set(one).isdisjoint(two) for one, two in best.itertuples(index=False)]
    return best.assign(same=pd.Series(same, best.index, dtype=bool))
