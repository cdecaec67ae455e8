"""Say how far `frontier` reaches its goals, and what carries over from one recorded GPU to another.

`tools.results` prints what these functions return.
"""

from collections.abc import Iterable, Mapping

import pandas as pd

from analysis import claims, goals, palette, published, ranking, stats
from analysis.claims.claim import NO_DATA
from analysis.markdown import counted, percent, table, with_interval
from analysis.schema import BASELINE
from analysis.stats import spread
from measure import ROOT
from tools import record
from tools.inserts import bullets

ALL, CLAIMED = "all", "float32"  # the dtype of the articles
HEADS = ("GPU", "sweeps", "dtype", "at most 1 % behind", "at most 4 %", "furthest behind")
HEADS += ("128 MB and more: 0.95 of the copy", "few long rows: 0.95 of `of_meet`")
HEADS += ("fits in L2: at most 1 % behind the best peer",)
GOAL = ("goal", "", "", "95 %", "100 %", "", "95 %", "95 %", "100 %")


def name(gpu: str) -> str:
    """Return the name of a GPU in a sentence."""
    return gpu.upper()


def order(rows: pd.DataFrame) -> list[str]:
    """Return the recorded GPUs: those with the most standard sweeps first, then the newest."""
    newest = rows.groupby("gpu")["started_at"].max().sort_values(ascending=False)
    return sorted(newest.index, key=lambda gpu: len(lacking(rows, gpu)))


def lacking(rows: pd.DataFrame, gpu: str) -> list[str]:
    """Return the standard sweeps that a GPU has no rows of."""
    known = set(rows.loc[rows["gpu"] == gpu, "sweep"])
    return [sweep for sweep in record.SWEEPS if sweep not in known]


def point(matrix: Mapping) -> str:
    """Return the shape, the dtype, and the operation that is not softmax."""
    other = "" if matrix["op"] == "softmax" else f" ({matrix['op']})"
    return f"{matrix['M']}x{matrix['N']} in {matrix['dtype']}{other}"


def findings(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the claims as checked on the recorded rows in float32."""
    found = claims.check(rows, published.load(ROOT / "data/published"))
    return found.query("dtype == @CLAIMED and origin == 'recorded'")


def over(ranks: pd.DataFrame, rival: str) -> str:
    """Return the geometric mean of `frontier`'s speed over a rival; "" where none has both."""
    leads = goals.leads(ranks, {rival}).values()
    if not leads:
        return ""
    mean = stats.geometric_mean(leads)
    return f"{with_interval(mean.value, *mean.interval)} ({counted(len(leads), 'matrix')})"


def goal_table(rows: pd.DataFrame) -> str:
    """Return how many matrices reach each goal, by GPU and dtype, and the bullets of `_facts`."""
    ranks, lines = ranking.rank_variants(rows), [GOAL]
    for gpu in order(rows):
        own = ranks[ranks["gpu"] == gpu]
        for sweeps, part in ((ALL, own), ("`random`", own[own["sweep"] == "random"])):
            for dtype in [ALL, *sorted(part["dtype"].unique())] if len(part) else []:
                reached = goals.reached(part if dtype == ALL else part[part["dtype"] == dtype])
                near, *others = (reached[key] for key in ("near", "copy", "meet", "cached"))
                cells = share(reached["level"]), share(near), furthest(near)
                cells += tuple(f"{share(each)}{furthest(each, '; ')}" for each in others)
                lines.append([name(gpu), sweeps, dtype, *cells])
    return f"{table(HEADS, lines)}\n\n{bullets(_facts(rows, ranks))}"


def share(of: pd.DataFrame) -> str:
    """Return which share of the matrices of `goals.reached` reaches a goal."""
    return f"{percent(of['met'].mean(), 1)} of {len(of)}" if len(of) else "no rows"


def furthest(of: pd.DataFrame, lead: str = "") -> str:
    """Return the value furthest from a goal, and where that is; "" without matrices."""
    return lead * (len(of) > 0) + "".join(values(of[:1]))


def values(of: pd.DataFrame) -> list[str]:
    """Return the value of each matrix, and the matrix."""
    matrices = of.reset_index().to_dict("records")
    return [f"{with_interval(*(at[end] for end in goals.VALUE))} at {point(at)}" for at in matrices]


def _facts(rows: pd.DataFrame, ranks: pd.DataFrame) -> Iterable[str]:
    """Yield all losses, and the goals of every GPU that are no share of matrices."""
    changed = goals.changed_claims(rows, published.load(ROOT / "data/published"), CLAIMED)
    for gpu in order(rows):
        own, part = ranks[ranks["gpu"] == gpu], rows[rows["gpu"] == gpu]
        level = goals.reached(own)["level"]
        lost = ", ".join(values(level[~level["met"]]))
        yield f"{name(gpu)}: `frontier` is more than 1 % behind: {lost or 'nowhere'}."
        peers = {each for each in own["variant"] if each.startswith("peer_")}
        means = {each: over(own, each) for each in (BASELINE, *sorted(peers, key=palette.order))}
        means = (f"{mean} over `{rival}`" for rival, mean in means.items() if mean)
        yield f"{name(gpu)}: speed of `frontier`, geometric means: {'; '.join(means)}."
        aa = spread.aa_controls(part[part["status"] == "ok"]).groupby("op")["excludes"].mean()
        shares = ", ".join(f"`{op}` {percent(each, 1)}" for op, each in aa.items())
        yield f"{name(gpu)}: A/A intervals that exclude 1 (goal 3 to 7 %): {shares}."
        if part["replicate"].max() < 2:
            yield f"{name(gpu)}: one replicate, so no verdict on a claim was repeated."
            continue
        differ = [
            f"{each['claim']}, {each['quantity']}: {each['verdict']}, by replicate "
            f"{each['replicate']} {each['alone']}"
            for each in changed[changed["gpu"] == gpu].to_dict("records")
        ]
        text = f"verdicts on claims that one replicate alone changes: {len(differ)}"
        yield f"{name(gpu)}: {'; '.join([text, *differ])}."


def carries(rows: pd.DataFrame) -> str:
    """Return how many verdicts and winners are the same on two GPUs, and all that are not."""
    first, *others = order(rows)
    if not others:
        return f"Only the {name(first)} is recorded: what carries over is not known."
    ranks, found = ranking.rank_variants(rows), findings(rows)
    lines = [line for other in others for line in _differences(ranks, found, first, other)]
    old = rows.groupby("gpu")["stale"].agg(lambda stale: (stale == "true").all())
    if old.any() and not old.all():
        which = ", ".join(map(name, old.index[old]))
        lines.insert(0, f"Older code measured all rows of {which}: a difference may be the code's.")
    return bullets(lines)


def _differences(ranks: pd.DataFrame, found: pd.DataFrame, first: str, other: str) -> Iterable[str]:
    """Yield the share that agrees, and each difference."""
    key, names = ["claim", "quantity"], f"{name(first)} and {name(other)}"
    by = found.drop_duplicates([*key, "gpu"]).set_index([*key, "gpu"])["verdict"].unstack("gpu")
    both = by.reindex(columns=[first, other]).replace(NO_DATA, None).dropna()
    differ = both[both[first] != both[other]]
    same = len(both) - len(differ)
    yield f"{names}: {same} of {len(both)} claims with a verdict on both have the same one."
    for (claim, quantity), sides in differ.iterrows():
        verdicts = ", ".join(f"{sides[gpu]} on {name(gpu)}" for gpu in (first, other))
        yield f"{claim}, {quantity}: {verdicts}."
    best = goals.best_on_both(ranks, first, other)
    matrices = f"{best['same'].sum()} of {counted(len(best), 'matrix')}"
    yield f"{names}: the best sets share a kernel at {matrices} with competitors on both."
    apart = best.loc[~best["same"], [first, other]].map(lambda names: names[0]).reset_index()
    for (one, two), part in apart.groupby([first, other]):
        points = ", ".join(point(row) for _, row in part.iterrows())
        yield f"`{one}` on {name(first)}, `{two}` on {name(other)}: {points}."
