"""Print what docs/results.md and docs/special_rows.md say of the recorded rows.

`python -m tools.results summary` prints one block, and `make docs` puts it between the comments
that name the command.
"""

from collections.abc import Callable, Iterable

import pandas as pd

from analysis import claims, frame, merge, palette, published, ranking
from analysis.claims.reproduction import NO_DATA, OPEN, VERDICTS
from analysis.markdown import best_set, counted, counts, number, percent, table, with_interval
from analysis.report import special_rows
from analysis.schema import MARKS, MATRIX, OTHER_BOARD
from analysis.stats import eager, spread
from measure import ROOT
from planning import points, single_shape
from tools import goals, record
from tools.goals import OURS, OURS_OF_LOGITS, goal_table, order
from tools.inserts import bullets, print_block
from tools.reference import config_of

CONTROLS = "processes where torch timed against itself differs significantly "
CONTROLS += "(5 % expected by chance)"
SPEEDUP = ["speedup", "speedup_low", "speedup_high"]
NOTE = "In brackets: 95 % intervals; \\* timed on another board than most of its matrix; "
NOTE += "; ".join(map(" ".join, MARKS.items())) + "."
SHAPE_HEADS = ("shape", "GPU", "torch", "fastest", "its time")
SHAPE_HEADS += ("speed-up over torch", "of the limit", "runner-up, its time over the best")
Place = tuple[str, str, str, int, int]  # the name of a shape or "", op, dtype, M, N


def recorded() -> pd.DataFrame:
    """Return the recorded rows of all GPUs, collected as a report collects them."""
    tables = sorted((ROOT / "data/recorded").glob("*/*.csv"))
    return frame.from_rows(merge.collected_rows([], tables))


def checked_claims(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the claims as checked on the recorded rows in float32, the dtype of the articles."""
    checked = claims.check(rows, published.load(ROOT / "data/published"))
    return checked[(checked["dtype"] == "float32") & (checked["origin"] != "published")]


def by_gpu(rows: pd.DataFrame, facts: Callable[[pd.DataFrame], dict[str, str]]) -> str:
    """Return a table with a column for each GPU, and a line for each of the `facts` of its rows."""
    columns = {gpu.upper(): facts(rows[rows["gpu"] == gpu]) for gpu in order(rows)}
    lines = pd.DataFrame(columns).itertuples(name=None)
    return table(["", *columns], [*lines])


def gpus(rows: pd.DataFrame) -> str:
    """Return what each GPU has recorded, and how quiet it was."""

    def facts(part: pd.DataFrame) -> dict[str, str]:
        ok = part[part["status"] == "ok"]
        replicates = ok.groupby("sweep")["replicate"].max().astype(int)
        fewer = replicates[replicates < replicates.max()].items()
        fewest = (f"`{sweep}` {count}" for sweep, count in fewer)
        aa = spread.aa_controls(ok).groupby("op")["excludes"].agg(["mean", "size"])
        shares = (f"`{op}` {percent(share, 1)} of {size}" for op, share, size in aa.itertuples())
        differs = ", ".join(shares)
        restless = ok["flags"].str.contains("throttled|_drift")
        return {
            "rows": f"{len(part)} ({counts(part['status'])})",
            "boards": ok["gpu_uuid"].nunique(),
            "days": frame.days(ok),
            "torch": ", ".join(frame.distinct(ok["torch"].str.split("+").str[0])),
            "replicates": ", ".join([str(replicates.max()), *fewest]),
            "incomplete sweeps": ", ".join(incomplete(part)) or "none",
            "rows of older code": percent((part["stale"] == "true").mean(), 1),
            "rows with throttling or clock drift": percent(restless.mean(), 1),
            CONTROLS: differs,
        }

    return by_gpu(rows, facts)


def incomplete(part: pd.DataFrame) -> Iterable[str]:
    """Yield the standard sweeps of which a GPU lacks matrices, with how many it has."""
    recorded = {
        sweep: set(own[[*MATRIX]].itertuples(index=False, name=None))
        for sweep, own in part.groupby("sweep")
    }
    for sweep in record.SWEEPS:
        expanded = points.expand(config_of(ROOT / f"sweeps/{sweep}.yaml"), part["gpu"].iloc[0])
        asked = {points.matrix(point) for point in expanded}
        has = asked & recorded.get(sweep, set())
        if has < asked:
            yield f"`{sweep}` {len(has)} of {counted(len(asked), 'matrix')}"


def summary(rows: pd.DataFrame) -> str:
    """Return what `frontier` wins and loses over all recorded sizes, and the claims' count."""
    ranks, verdicts = ranking.rank_variants(rows), checked_claims(rows)

    def facts(part: pd.DataFrame) -> dict[str, str]:
        gpu = part["gpu"].iloc[0]
        own = ranks[ranks["gpu"] == gpu]
        level = goals.reached(own)["level"]
        speed = called = "not recorded"
        if means := eager.over_torch(ranking.over_sweeps(own), OURS):
            speed = f"{number(means.graph, 3)} at {counted(means.sizes, 'size')}"
            called = f"{number(means.eager, 3)}; less than 1 at {counted(means.slower, 'size')}"
        wrong = part.loc[part["status"] == "incorrect", "variant"]
        verdicts_here = verdicts.loc[verdicts["gpu"] == gpu, "verdict"]
        return {
            f"`{OURS}`, times as fast as torch in a CUDA graph, geometric mean": speed,
            "the same in eager calls, where the slower of GPU and host counts": called,
            f"sizes where `{OURS}` is more than 1 % behind the fastest kernel": (
                f"{(~level['met']).sum()} of {len(level)}"
            ),
            "rows that failed the correctness check, which never rank": (
                counts(f"`{variant}`" for variant in wrong) or "none"
            ),
            "published claims in float32": counts(verdicts_here, VERDICTS),
        }

    return by_gpu(rows, facts)


def claim_list(rows: pd.DataFrame) -> str:
    """Return each claim with its verdict in float32 on every GPU, and the first one's reason."""
    checked, gpus, lines = checked_claims(rows), order(rows), []
    for (claim, statement, quantity), part in checked.groupby(
        ["claim", "statement", "quantity"], sort=False
    ):
        by_gpu = part.drop_duplicates("gpu").set_index("gpu").reindex(gpus).dropna(subset="verdict")
        verdicts = (f"{verdict} on {gpu.upper()}" for gpu, verdict in by_gpu["verdict"].items())
        why, explained = by_gpu[["why", "explained"]].iloc[0]
        lines.append(
            f"**{', '.join(verdicts)}**: “{statement}” ({claim}), judged by the {quantity}. "
            f"{why[:1].upper()}{why[1:]}. "
            f"[Explanation](explanation/why_kernels_differ.md#{explained})"
        )
    return bullets(lines)


def carries(rows: pd.DataFrame) -> str:
    """Return how many verdicts and winners are the same on the first GPU and on each other one."""
    first, *others = order(rows)
    if not others:
        return f"Only the {first.upper()} is recorded: what carries over is not known."
    sizes, lines = ranking.over_sweeps(ranking.rank_variants(rows)), []
    verdicts = checked_claims(rows).pivot_table("verdict", ["claim", "quantity"], "gpu", "first")
    for other in others:
        pair = [first, other]
        decided = verdicts.reindex(columns=pair).replace([NO_DATA, OPEN], None).dropna()
        best = best_on_both(sizes, *pair)
        lines.append(
            f"{first.upper()} and {other.upper()}: {(decided[first] == decided[other]).sum()} of "
            f"{counted(len(decided), 'claim')} decided on both have the same verdict. At "
            f"{best.sum()} of {counted(len(best), 'size')} with a winner on both, they have a best "
            "kernel in common."
        )
    return bullets(lines)


def best_on_both(sizes: pd.DataFrame, first: str, second: str) -> pd.Series:
    """Return whether the best sets of two GPUs share a variant, at each size with both.

    A variant that ranks on one of the GPUs only is left out.
    """
    key = ["op", "dtype", "M", "N"]
    sizes = sizes[sizes["gpu"].isin([first, second])]
    sizes = sizes[sizes.groupby([*key, "variant"])["gpu"].transform("nunique") > 1]
    best = sizes[sizes["in_best_set"]].groupby([*key, "gpu"])["variant"].agg(set)
    best = best.unstack("gpu").reindex(columns=[first, second]).dropna()
    return pd.Series(
        [bool(one & two) for one, two in best.itertuples(index=False)], best.index, bool
    )


def peers(rows: pd.DataFrame) -> str:
    """Return the speed of every variant over torch at the points of the sweep, on each GPU."""
    ranks = ranking.rank_variants(rows[rows["sweep"] == "peers"])
    if ranks.empty:
        return "No GPU has rows of this sweep."
    key = ["M", "N", "dtype", "gpu"]
    cells = ranks.assign(cell=[_cell(row) for _, row in ranks.iterrows()])
    cells = cells[~frame.is_baseline(cells)].drop_duplicates([*key, "variant"])
    wide = cells.pivot(index=key, columns="variant", values="cell").fillna("").sort_index()
    wide = wide[sorted(wide, key=palette.order)]
    lines = [
        [f"{m}x{n}", dtype, gpu.upper(), *own]
        for (m, n, dtype, gpu), *own in wide.itertuples(name=None)
    ]
    heads = ["M x N", "dtype", "GPU", *(f"`{variant}`" for variant in wide)]
    level = goals.reached(ranks)["level"]
    ours = f"{level['met'].sum()} of {counted(len(level), 'point')}"
    ours = f"`{OURS}` is the fastest, or within 1 %, at {ours}."
    return f"{table(heads, lines, 'points')}\n\n{ours} {NOTE}"


def _cell(row: pd.Series) -> str:
    """Return the speed over torch with its interval and marks, or the status that is not ok."""
    if row["status"] != "ok":
        return row["status"]
    board = "*" if row["unranked_by"] == OTHER_BOARD else ""
    return f"{with_interval(*row[SPEEDUP])}{board}{frame.mark(row['flags'])}"


def backward(rows: pd.DataFrame) -> str:
    """Return the share of the roofline of each gradient kernel at 100 million elements, by N."""
    sizes = ranking.over_sweeps(ranking.rank_variants(rows))
    sizes = sizes[sizes["op"].str.endswith("_backward") & (sizes["M"] * sizes["N"] > 10**8)]
    wide = sizes.pivot_table("of_copy", ["gpu", "op", "dtype", "variant"], "N", "min")
    lines = [
        [gpu.upper(), f"`{op}`, {dtype}", f"`{variant}`", *cells]
        for (gpu, op, dtype, variant), *cells in (
            wide.map(percent, na_action="ignore").fillna("").itertuples(name=None)
        )
    ]
    return table(["GPU", "operation", "kernel", *(f"N = {n}" for n in wide)], lines)


def workloads(rows: pd.DataFrame) -> str:
    """Return a line for each named shape of sweeps/ that has rows, GPU by GPU."""
    named = single_shape.workloads({}, sorted((ROOT / "sweeps").glob("workloads*.yaml")))
    return shape_table(rows, sorted(named, key=lambda place: (place[1], place[0])), order(rows))


def shape_table(rows: pd.DataFrame, shapes: Iterable[Place], gpus: list[str]) -> str:
    """Return a line for each shape, GPU by GPU, with the fastest kernel and the next one.

    A kernel that does not rank is named if it is faster than the next one.
    """
    ranks = ranking.rank_variants(rows)
    unranked = ranks[ranks["rank"].isna() & ranks["time_us"].notna() & ~frame.is_baseline(ranks)]
    sizes = pd.concat([ranking.over_sweeps(ranks), unranked], ignore_index=True)
    parts, lines, flags = dict(iter(sizes.groupby(["gpu", "op", "dtype", "M", "N"]))), [], []
    for name, *place in shapes:
        for gpu in gpus:
            part = parts.get((gpu, *place))
            if part is not None:
                op, dtype, m, n = place
                shape = f"{name}{', ' * bool(name)}{op}, {m}x{n}, {dtype}"
                lines.append([shape, gpu.upper(), *_race(part)])
                flags += [*part["flags"]]
    return f"{table(SHAPE_HEADS, lines, 'shapes')}\n\n{'; '.join(frame.legend(flags))}."


def _race(part: pd.DataFrame) -> list[str]:
    """Return torch's time, the fastest kernel with its time, and the next one, of one size.

    The next one is not in a tie with the fastest.
    """
    part = part.sort_values("rank").drop_duplicates("variant")
    first, rivals = part.iloc[0], part.iloc[1:].sort_values("speedup", ascending=False)
    named = "`" + part["variant"] + "`" + part["flags"].map(frame.mark)
    best = named[part["in_best_set"].eq(True)].tolist()  # NaN: has no rank
    rivals = rivals[~frame.is_baseline(rivals)]
    behind = named + ", " + (first["speedup"] / part["speedup"]).map(lambda x: number(x, 3))
    ranks = rivals["rank"].notna()
    following = rivals[ranks & ~rivals["in_best_set"].eq(True)]
    unranked = rivals[~ranks & ~(rivals["speedup"] <= following["speedup"].max())]
    runner_up = behind[following.index[0]] if len(following) else "none"
    if len(unranked):
        runner_up += f" (not ranked: {'; '.join(behind[unranked.index])})"
    return [
        f"{number(first['torch_us'], 3)} µs",
        best_set(best or [named.iloc[0]]),
        f"{number(first['time_us'], 3)} µs",
        number(first["speedup"], 3),
        percent(frame.of_limit(part).iloc[0]),
        runner_up,
    ]


BLOCKS = {
    "gpus": gpus,
    "summary": summary,
    "goals": goal_table,
    "logits": lambda rows: goal_table(rows, OURS_OF_LOGITS),
    "rivals": goals.rivals,
    "carries": carries,
    "claims": claim_list,
    "peers": peers,
    "workloads": workloads,
    "backward": backward,
    "special_rows": special_rows.tables,
}

if __name__ == "__main__":
    print_block(BLOCKS, recorded)
