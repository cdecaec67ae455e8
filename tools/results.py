"""Print what docs/results.md and docs/special_rows.md say of the recorded rows.

Every number is printed, losses included.

`python -m tools.results summary` prints one block, and `make docs` puts it between the comments
that name the command.
"""

import math
import re

import pandas as pd

from analysis import frame, merge, palette, ranking
from analysis.claims.reproduction import NOT_REPRODUCED, PARTLY, VERDICTS
from analysis.markdown import best_set, counted, counts, number, percent, table, with_interval
from analysis.report import claim_lines, special_rows
from analysis.schema import ITEMSIZE, MATRIX, OTHER_BOARD, SIZE, SWEEP_MATRIX
from analysis.schema import MARKS as MARKED
from analysis.stats import eager
from kernels.contract import VEC_BYTES
from kernels.dropin import routes
from measure import ROOT
from planning import points, single_shape
from tools import goals, record
from tools.goals import OURS, TORCH, carries, checked_claims, furthest, goal_table, lacking, order
from tools.inserts import bullets, print_block
from tools.reference import config_of

SPEEDUP = ["speedup", "speedup_low", "speedup_high"]
BACKWARDS = ("softmax_backward", "log_softmax_backward")
MARKS = ["\\* timed on another board than most of its matrix", *map(" ".join, MARKED.items())]
NOTE = f"In brackets: 95 % intervals; {'; '.join(MARKS)}."
WORKLOAD_HEADS = ("shape", "operation", "dtype", "GPU", "torch", "fastest", "its time")
WORKLOAD_HEADS += ("speed-up over torch", "of the limit", "runner-up, its time over the best")
ABSENT = "not recorded"
WHY = "explanation/why_kernels_differ.md"
ROOFLINE = "explanation/method.md#few-long-rows"


def recorded() -> pd.DataFrame:
    """Return the recorded rows of all GPUs, collected as a report collects them."""
    tables = sorted((ROOT / "data/recorded").glob("*/*.csv"))
    return frame.from_rows(merge.collected_rows([], tables))


def summary(rows: pd.DataFrame) -> str:
    """Return what `frontier` wins and loses over all recorded sizes, and the claims' count."""
    ranks, verdicts_by_gpu = ranking.rank_variants(rows), checked_claims(rows)
    over_torch = _over_torch(ranks, order(rows))

    def share(sizes: pd.DataFrame) -> str:
        met = "met" if sizes["met"].mean() >= goals.SHARE else "missed"
        reach = f"{sizes['met'].sum()} of {len(sizes)}, {met}; {furthest(sizes, 'worst case ')}"
        return reach if len(sizes) else ABSENT

    def facts(gpu: str) -> list[str]:
        own, part = ranks[ranks["gpu"] == gpu], rows[rows["gpu"] == gpu]
        reached = goals.reached(own)
        wrong = part.loc[part["status"] == "incorrect", "variant"]
        verdicts = verdicts_by_gpu.loc[verdicts_by_gpu["gpu"] == gpu, "verdict"]
        return [
            over_torch[gpu],
            _eager(own),
            *(share(reached[goal]) for goal in ("level", "copy", "meet")),
            counts(f"`{variant}`" for variant in wrong) or "none",
            counts(verdicts, VERDICTS),
        ]

    goal = f"(goal: {percent(goals.SHARE)})"
    heads = (
        f"Speed-up of `{OURS}` over torch, geometric mean ({goals.OF_THESE})",
        "Speed-up of eager calls, where the slower of GPU and host counts",
        f"Sizes where it is at most 1 % slower than the fastest kernel {goal}",
        f"Sizes of 128 MB and more where it reaches 0.95 of a copy's bandwidth {goal}",
        f"Few long rows where it reaches 0.95 of [their roofline]({ROOFLINE}) {goal}",
        "Rows that failed the correctness check, which never rank",
        "Published claims in float32",
    )
    of_gpus = ([f"{gpu.upper()} {fact}" for fact in facts(gpu)] for gpu in order(rows))
    pairs = zip(heads, zip(*of_gpus, strict=True), strict=True)
    return bullets(f"{head}: {'; '.join(texts)}." for head, texts in pairs)


def _eager(ranks: pd.DataFrame) -> str:
    """Return the mean of eager calls over torch's, and where torch's are the shorter ones."""
    means = eager.over_torch(ranking.over_sweeps(ranks), OURS)
    if means is None:
        return ABSENT
    return (
        f"{number(means.eager, 3)} ({counted(means.sizes, 'size')}; {number(means.graph, 3)} at "
        f"the same sizes in a CUDA graph; at {means.slower} of them eager torch is faster)"
    )


def _over_torch(ranks: pd.DataFrame, gpus: list[str]) -> dict[str, str]:
    """Return the mean speed over torch by GPU: of all its sizes, and of those of all GPUs."""
    leads, texts = goals.leads(ranks, {TORCH}), {}
    sizes = pd.MultiIndex.from_tuples(leads, names=SIZE)
    by_gpu = pd.Series([*leads.values()], sizes, dtype=object).unstack("gpu")
    by_gpu = by_gpu.reindex(columns=gpus)
    common = by_gpu.dropna()
    for gpu in gpus:
        own = [*by_gpu[gpu].dropna()]
        texts[gpu] = f"{goals.mean_of(own)} ({counted(len(own), 'size')})" if own else ABSENT
        if len(common) and len(gpus) > 1:
            mean = goals.mean_of([*common[gpu]])
            texts[gpu] += f", {mean} at the {len(common)} sizes measured on all GPUs"
    return texts


def claim_list(rows: pd.DataFrame) -> str:
    """Return each claim with its verdict in float32 on every GPU, the verdict first."""
    lines, gpus = [], order(rows)
    for (claim, statement, quantity), part in checked_claims(rows).groupby(
        ["claim", "statement", "quantity"], sort=False
    ):
        by_gpu = part.drop_duplicates("gpu").set_index("gpu").reindex(gpus)
        by_gpu = by_gpu.dropna(subset="verdict")
        verdicts = by_gpu.groupby("verdict", sort=False).groups.items()
        heads = (
            f"**{verdict}** ({', '.join(map(str.upper, names))})" for verdict, names in verdicts
        )
        first = by_gpu.iloc[0]
        published = claim_lines.shown(quantity, first["published_value"])
        values = [f"published {published}"] if published else []
        values += [f"{gpu.upper()} {_measured(row)}" for gpu, row in by_gpu.iterrows()]
        quantity = quantity[:1].upper() + quantity[1:]
        words = f"{', '.join(heads)}: “{statement}” ({claim}). {quantity}: {'; '.join(values)}."
        if first["own_table"] in (PARTLY, NOT_REPRODUCED):
            words += " The source's own table has such exceptions, too."
        lines.append(f"{words} [Why]({WHY}#{first['explained']})")
    return bullets(lines)


def _measured(row: pd.Series) -> str:
    """Return the measured value of a claim, or why there is none."""
    value = with_interval(row["value"], row["low"], row["high"])
    if value and claim_lines.is_share(row["quantity"]):
        low, high = 100 * row["low"], 100 * row["high"]
        ends = "" if math.isnan(low) else f" [{low:.1f}, {high:.1f}]"
        value = claim_lines.shown(row["quantity"], row["value"]) + ends
    slower = re.search(r"slower at N = [\d, ]*\d", row["why"])
    sizes = f" ({slower[0]})" if value and slower else ""
    return f"{value or row['why'].split(' (')[0]}{sizes}"


def peers(rows: pd.DataFrame) -> str:
    """Return the speed of every variant over torch at the points of the first GPU, on each GPU."""
    lines, ranks = [], ranking.rank_variants(rows[rows["sweep"] == "peers"])
    gpus = [gpu for gpu in order(rows) if gpu in set(ranks["gpu"])]
    if not gpus:
        return "No GPU has rows of this sweep."
    shown = sorted(set(ranks.loc[~frame.is_baseline(ranks), "variant"]), key=palette.order)
    for (dtype, m, n), of_size in ranks.groupby(["dtype", "M", "N"]):
        if gpus[0] not in set(of_size["gpu"]):
            continue
        for gpu in gpus:
            by = of_size[of_size["gpu"] == gpu].set_index("variant", drop=False)
            cells = [_cell(by.loc[peer]) if peer in by.index else "" for peer in shown]
            if any(cells):
                lines.append([f"{m}x{n}", dtype, gpu.upper(), *cells])
    heads = ["M x N", "dtype", "GPU", *(f"`{peer}`" for peer in shown)]
    level = goals.reached(ranks[ranks["gpu"] == gpus[0]])["level"]
    ours = f"`{OURS}` is the fastest, or within 1 %, at {level['met'].sum()} of "
    ours += f"{counted(len(level), 'point')} on the {gpus[0].upper()}."
    return f"{table(heads, lines, 'points')}\n\n{ours} {NOTE}"


def backward(rows: pd.DataFrame) -> str:
    """Return the least and the most share of the roofline of the drop-in's backward and torch's."""
    lines, sizes = [], ranking.over_sweeps(ranking.rank_variants(rows)).sort_values("rank")
    for op in BACKWARDS:
        of_gpus = []
        for gpu in order(rows):
            part = sizes[(sizes["op"] == op) & (sizes["gpu"] == gpu)]
            part = part[part["M"] * part["N"] > 10**8]
            torch = frame.is_baseline(part)
            own = part[part["variant"] == _of_drop_in(part)].set_index(["dtype", "N"])
            best, n = own["of_copy"], own.index.get_level_values("N")
            dtype = own.index.get_level_values("dtype")
            aligned, long = n * dtype.map(ITEMSIZE) % VEC_BYTES == 0, n > 65536
            shares = {
                "up to N = 65536": best[aligned & ~long],
                "longer": best[aligned & long],
                "unaligned rows": best[~aligned],
                "torch": part.loc[torch, "of_copy"],
            }
            texts = (f"{k} {v.min():.2f} to {v.max():.2f}" for k, v in shares.items() if len(v))
            of_gpus.append(f"{gpu.upper()}: {', '.join(texts) or ABSENT}")
        lines.append(f"`{op}`, {'; '.join(of_gpus)}.")
    return bullets(lines)


def _of_drop_in(rows: pd.DataFrame) -> pd.Series:
    """Return the backward that the drop-in launches at the size of each row."""
    row_bytes = rows["N"] * rows["dtype"].map(ITEMSIZE)
    limits = (row_bytes % VEC_BYTES == 0).map(routes.MIN_BYTES)
    return (row_bytes > limits).map({True: "cuda_backward", False: "triton_backward"})


def workloads(rows: pd.DataFrame) -> str:
    """Return a line for each named shape of sweeps/ that has rows, GPU by GPU."""
    named = single_shape.workloads({}, sorted((ROOT / "sweeps").glob("workloads*.yaml")))
    ranks = ranking.rank_variants(rows)
    sizes = ranking.over_sweeps(ranks).sort_values("rank")
    sizes["of_limit"] = frame.of_limit(sizes)
    unranked = ranks[ranks["rank"].isna() & ranks["time_us"].notna()]
    sizes = pd.concat([sizes, unranked])
    parts = dict(iter(sizes.groupby(["op", "dtype", "M", "N", "gpu"])))
    lines, flags, gpus = [], [], order(rows)
    for name, *place in sorted(named, key=lambda workload: (workload[1], workload[0])):
        for gpu in gpus:
            if (part := parts.get((*place, gpu))) is not None:
                op, dtype, m, n = place
                lines.append([f"{name}, {m}x{n}", f"`{op}`", dtype, gpu.upper(), *_race(part)])
                flags += [*part["flags"]]
    return f"{table(WORKLOAD_HEADS, lines, 'shapes')}\n\n{'; '.join(frame.legend(flags))}."


def _race(part: pd.DataFrame) -> list[str]:
    """Return torch's time, the fastest kernel with its time, and the next one, of one size.

    A kernel that does not rank is named if it is faster than the next one.
    """
    first, rivals = part.iloc[0], part.iloc[1:]
    best = part.loc[part["in_best_set"] == True, "variant"]  # noqa: E712  NaN: has no rank
    fastest = best_set([f"`{name}`" for name in (best if len(best) else [first["variant"]])])
    rivals = rivals[rivals["variant"] != rivals["baseline"]]
    is_ranked, following = rivals["rank"].notna(), []
    for _, second in rivals[is_ranked][:1].iterrows():
        following.append(_named(second, second["behind_best"]))
    for _, other in rivals[~is_ranked].drop_duplicates("variant").iterrows():
        ratio = first["speedup"] / other["speedup"]
        if not ratio >= rivals.loc[is_ranked, "behind_best"].min():
            following.append(f"unranked: {_named(other, ratio)}")
    return [
        f"{number(first['torch_us'], 3)} µs",
        fastest,
        f"{number(first['time_us'], 3)} µs{frame.mark(first['flags'])}",
        number(first["speedup"], 3),
        percent(first["of_limit"]),
        "; ".join(following) or "none",
    ]


def _named(row: pd.Series, ratio: float) -> str:
    """Return a variant with its time over the best one's, and the marks of its flags."""
    return f"`{row['variant']}`, {number(ratio, 3)}{frame.mark(row['flags'])}"


def gpus(rows: pd.DataFrame) -> str:
    """Return what each GPU has recorded, and how quiet it was."""
    lines = []
    for gpu in order(rows):
        part, ok = rows[rows["gpu"] == gpu], rows[(rows["gpu"] == gpu) & (rows["status"] == "ok")]
        boards = ok.groupby(SWEEP_MATRIX)["gpu_uuid"].nunique()
        replicates = ok.groupby("sweep")["replicate"].max().astype(int)
        fewer = replicates[replicates < replicates.max()].items()
        fewest = (f"`{sweep}` {count}" for sweep, count in fewer)
        torch = ", ".join(sorted(ok["torch"].str.split("+").str[0].unique()))
        restless = percent(ok["flags"].str.contains("throttled|_drift").mean(), 1)
        stale = percent((part["stale"] == "true").mean(), 1)
        variants = part[part["op"].isin(rows.loc[rows["variant"] == OURS, "op"])].groupby("sweep")
        without = [f"`{sweep}`" for sweep, own in variants if OURS not in set(own["variant"])]
        lines.append(
            f"{gpu.upper()}: {len(part)} rows ({counts(part['status'])}) of "
            f"{counted(ok['gpu_uuid'].nunique(), 'board')}, {frame.days(ok)}, torch {torch}, "
            f"replicates: {', '.join([str(replicates.max()), *fewest])}. Missing sweeps: "
            f"{', '.join(f'`{sweep}`' for sweep in lacking(rows, gpu)) or 'none'}. Sweeps in part: "
            f"{', '.join(_in_part(part)) or 'none'}. Sweeps without `{OURS}`: "
            f"{', '.join(without) or 'none'}. Matrices on two boards: "
            f"{(boards > 1).sum()} of {len(boards)}. Measured by an older version of the kernels "
            f"or of `measure/`: {stale} of the rows. Throttled, or with clock drift: {restless}."
        )
    return bullets(lines)


def _in_part(rows: pd.DataFrame) -> list[str]:
    """Return the standard sweeps of which a GPU lacks matrices, with how many it has."""
    recorded = rows.drop_duplicates(SWEEP_MATRIX).groupby("sweep")[[*MATRIX]]
    texts = []
    for sweep, matrices in recorded:
        if sweep in record.SWEEPS:
            expanded = points.expand(config_of(ROOT / f"sweeps/{sweep}.yaml"), rows["gpu"].iloc[0])
            asked = {points.matrix(point) for point in expanded}
            has = asked.intersection(matrices.itertuples(index=False, name=None))
            texts += [f"`{sweep}` {len(has)} of {counted(len(asked), 'matrix')}"] * (has < asked)
    return texts


def _cell(row: pd.Series) -> str:
    """Return the speed over torch with its interval and marks, or the status that is not ok."""
    if row["status"] != "ok":
        return row["status"]
    board = "*" if row["unranked_by"] == OTHER_BOARD else ""
    return f"{with_interval(*row[SPEEDUP])}{board}{frame.mark(row['flags'])}"


BLOCKS = {"summary": summary, "claims": claim_list, "goals": goal_table}
BLOCKS |= {
    "rivals": goals.rivals,
    "logits": goals.logits_table,
    "carries": carries,
    "peers": peers,
    "backward": backward,
    "workloads": workloads,
    "gpus": gpus,
    "special_rows": special_rows.tables,
}

if __name__ == "__main__":
    print_block(BLOCKS, recorded)
