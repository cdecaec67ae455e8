"""Count how often `frontier` reaches its goals, and compare the GPUs on record."""

import math
from collections.abc import Collection
from itertools import islice
from typing import NamedTuple

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
NONE = (math.nan, math.nan)  # an interval that is not known
CLAIM = ["gpu", "claim", "quantity", "sweep"]


class Reached(NamedTuple):
    """How many of some matrices reach a goal.

    `found`: matrix -> its value with the ends of the 95 % interval, NaN where a value has none. The
    matrix furthest from the goal comes first.
    """

    met: int
    found: dict[tuple, tuple[float, ...]]

    @property
    def of(self) -> int:
        """Return the number of matrices."""
        return len(self.found)

    @property
    def missed(self) -> dict[tuple, tuple[float, ...]]:
        """Return the matrices that do not reach the goal."""
        return dict(islice(self.found.items(), self.of - self.met))


def reached(ranks: pd.DataFrame) -> dict[str, Reached]:
    """Return goal -> Reached over the matrices of `ranks`, which is of `rank_variants`.

    level, near: the time over that of the fastest, where there are two competitors. copy: the share
    of the copy bandwidth, from LARGE bytes on. meet: the share of the second roofline, of few long
    rows. cached: the time over that of the fastest peer, where the buffers of a call fit in L2.
    """
    own = ranks[(ranks["variant"] == OURS) & ranks["rank"].notna()].set_index(SWEEP_MATRIX)
    m, n, dtype = (own.index.get_level_values(name) for name in ("M", "N", "dtype"))
    large = 2 * m * n * dtype.map(ITEMSIZE) >= LARGE
    few = (m <= FEW_ROWS) & (n >= LONG_ROW)
    behind = ranking.profile(ranks).get(OURS, pd.Series(dtype=float)).dropna()
    ends = own[["behind_low", "behind_high"]].reindex(behind.index)
    behind = dict(zip(behind.index, zip(behind, *ends.T.to_numpy(), strict=True), strict=True))
    warm = ranks[ranks["warm_us"].notna()]
    peers = {name for name in warm["variant"] if name.startswith("peer_")}
    over_peer = {at: Estimate(0.0).over(lead) for at, lead in leads(warm, peers).items()}
    cached = {at: (ratio.value, *ratio.interval) for at, ratio in over_peer.items()}
    rooflines = own.loc[large, "of_copy"], own.loc[few, "of_meet"]
    of_copy, of_meet = ({at: (x, *NONE) for at, x in of.dropna().items()} for of in rooflines)
    return {
        "level": _reached(behind, most=LEVEL_WITH),
        "near": _reached(behind, most=NEAR),
        "copy": _reached(of_copy, least=OF_ROOFLINE),
        "meet": _reached(of_meet, least=OF_ROOFLINE),
        "cached": _reached(cached, most=LEVEL_WITH),
    }


def _reached(
    found: dict[tuple, tuple[float, ...]], least: float = 0.0, most: float = math.inf
) -> Reached:
    """Judge the first value of each matrix; only one of the limits is given."""
    met = sum(least <= value <= most for value, *_ in found.values())
    order = sorted(found, key=lambda at: found[at][0], reverse=not least)
    return Reached(met, {at: found[at] for at in order})


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
