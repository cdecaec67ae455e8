"""Print what README.md says of the recorded rows: one sentence, three findings, a few points.

`python -m tools.readme headline` prints one block; `make docs` puts it between the comments that
name the command. All numbers are rounded to what a reader remembers; docs/results.md has the rest.
"""

import math
from statistics import geometric_mean

import pandas as pd

from analysis import frame, palette, ranking, schema, stats
from analysis.markdown import best_set, counted, number, percent, table
from analysis.report.special_rows import WRONG
from analysis.schema import ITEMSIZE, SIZE
from analysis.stats import eager
from tools import goals
from tools.goals import OURS
from tools.inserts import bullets, print_block
from tools.results import recorded

OURS_OF_LOGITS, OUR_BACKWARD = "frontier_logits", "cuda_backward"
OPS_ON_LOGITS = ("token_log_prob", "cross_entropy")
MASKED = ("-inf", "one finite")  # Parts of the names of special rows with masked logits.
LONG_ROW = 16384  # columns from which a row no longer fits in the registers of one block
# Points of the table: what people ask, and a few where little is to gain.
POINTS = (
    ("softmax", "bfloat16", 4096, 128256),
    ("cross_entropy", "bfloat16", 4096, 128256),
    ("token_log_prob", "bfloat16", 8192, 151936),
    ("log_softmax", "bfloat16", 4096, 128256),
    ("log_softmax_backward", "bfloat16", 4096, 128256),
    ("softmax", "float32", 64, 50257),
    ("softmax", "bfloat16", 1024, 65536),
    ("softmax", "float32", 1024, 4096),
    ("softmax", "float32", 1024, 256),
)
CONDITIONS = (
    "Times in a CUDA graph, with a cold cache. 100 % of the limit is the speed of a copy, or of a "
    "read where an operation returns one value per row. For functions of logits, torch is the "
    "composition that trainers call, which casts to float32 first; these are forward passes."
)
OLDER, WRONG_SIGN = schema.MARK_OF["stale"], schema.MARK_OF["edge_cases"]
HEADS = ("size", "GPU", "torch", "fastest kernel", "best time", "speed-up", "of the limit")


def headline(rows: pd.DataFrame) -> str:
    """Return one sentence on the kernel of this project, on the first recorded GPU."""
    gpu, *_ = goals.order(rows)
    ranks = ranking.rank_variants(rows[rows["gpu"] == gpu])
    mean, level = eager.over_torch(ranking.over_sweeps(ranks), OURS), goals.reached(ranks)["level"]
    if mean is None:
        return f"`{OURS}` was not timed on the {gpu.upper()}."
    sizes = pd.MultiIndex.from_frame(ranks.loc[_of_others(ranks), SIZE])
    level = level[level.index.isin(sizes)]
    raced = ""
    if len(level):
        raced = (
            f" Of the {counted(len(level), 'size')} where another project's kernel was timed, it "
            f"is the fastest or within 1 % of it at {level['met'].sum()}."
        )
    return (
        f"On an {gpu.upper()}, this repository's softmax and log-softmax run "
        f"**{number(mean.graph, 2)} times as fast as PyTorch's** in CUDA graphs and "
        f"{number(mean.eager, 2)} times as fast in eager calls (geometric means of "
        f"{counted(mean.sizes, 'measured size')}; half of them gain at least "
        f"{number(mean.graph_median, 2)} times in a graph).{raced}{_age(ranks)}"
    )


def _age(ranks: pd.DataFrame) -> str:
    """Return "", or a sentence that says that the kernel has changed since it was timed."""
    older = ranks.loc[ranks["variant"] == OURS, "stale"] == "true"
    if not older.any():
        return ""
    which = "These" if older.all() else "Some of these"
    return f" {which} were measured with an older version of the kernel."


def findings(rows: pd.DataFrame) -> str:
    """Return what the rows of the first recorded GPU say, a loss among them, and any of logits."""
    gpus, all_ranks = goals.order(rows), ranking.rank_variants(rows)
    gpu = gpus[0]
    of_first, losses = all_ranks[all_ranks["gpu"] == gpu], _losses(all_ranks, gpus)
    said = _long_rows(of_first), _rivals(all_ranks, gpu), _logits(all_ranks), losses
    unless = ", unless another GPU is named" if len(gpus) > 1 else ""
    return f"On an {gpu.upper()}{unless}:\n\n{bullets([*filter(None, said)])}"


def points(rows: pd.DataFrame) -> str:
    """Return a line for each of POINTS, of the first GPU that the current code measured there.

    Where no GPU was, it is the first GPU that has the point.
    """
    ranks = ranking.over_sweeps(ranking.rank_variants(rows))
    lines, gpus = [], goals.order(rows)
    for place in POINTS:
        parts = ranks[(ranks[["op", "dtype", "M", "N"]] == [*place]).all(axis=1)]
        of_gpus = [parts[parts["gpu"] == gpu] for gpu in gpus]
        of_gpus = [part.sort_values("rank") for part in of_gpus if len(part)]
        if of_gpus:
            lines.append(_line(place, min(of_gpus, key=_preference)))
    older = any(OLDER in cell for line in lines for cell in line)
    legend = f" {OLDER} Measured with an older version." if older else ""
    if any(WRONG_SIGN in cell for line in lines for cell in line):
        legend += f" {WRONG_SIGN} Wrong on some rows with -inf, NaN or huge values."
    return f"{table(HEADS, lines)}\n\n{CONDITIONS}{legend}"


def _preference(part: pd.DataFrame) -> tuple[bool, bool]:
    """Return a key that sorts a GPU with a race, and then one of current code, first."""
    return not part["in_best_set"].any(), part["stale"].iloc[0] == "true"


def _long_rows(ranks: pd.DataFrame) -> str:
    """Return which share of a copy's bandwidth torch and `frontier` reach at long rows.

    torch is timed beside `frontier`, so it needs no row.
    """
    sizes = ranking.over_sweeps(ranks)
    sizes = sizes[(sizes["op"] == "softmax") & (sizes["variant"] == OURS)]
    volume = 2 * sizes["M"] * sizes["N"] * sizes["dtype"].map(ITEMSIZE)
    sizes = sizes[(sizes["N"] > LONG_ROW) & (volume >= goals.LARGE)]
    shares = sizes["of_copy"] / sizes["speedup"], sizes["of_copy"]
    torch, ours = (percent(share.median()) for share in shares)
    return (
        f"**torch is slow at long rows.** Where a row has more than {LONG_ROW} columns and a call "
        f"moves at least 128 MB, its softmax runs at {torch} of a copy's speed (median), and "
        f"`{OURS}` at {ours}."
    )


def _rivals(all_ranks: pd.DataFrame, first: str) -> str:
    """Return the strongest kernel of another project, and who wins against it how often.

    The rows are those of the GPU on which most sizes have a rival from another project.
    """
    sizes = all_ranks[_of_others(all_ranks)].drop_duplicates(SIZE)["gpu"].value_counts()
    if sizes.empty:
        return "**No other project's kernel was timed.** `make peers` installs them."
    gpu = sizes.index[0]
    ranks = all_ranks[all_ranks["gpu"] == gpu]
    where = "" if gpu == first else f" on the {gpu.upper()}, which has most such comparisons"
    leads = {
        name: list(goals.leads(ranks, {name}).values())
        for name in ranks.loc[_of_others(ranks), "variant"].unique()
    }
    most = max(map(len, leads.values()))
    fewest = min(ranking.MIN_MATRICES, max(1, most // 2))  # a rival of few sizes may be lucky
    leads = {name: lead for name, lead in leads.items() if len(lead) >= fewest}
    mean = {name: stats.geometric_mean(lead) for name, lead in leads.items()}
    strongest = palette.most_first({name: -lead.log for name, lead in mean.items()})[0]
    bounds = [lead.bounds for lead in leads[strongest]]
    lost = sum(high < 1 / goals.LEVEL_WITH for _, high in bounds)
    won = sum(low > goals.LEVEL_WITH for low, _ in bounds)
    return (
        f"**The closest rival is `{strongest}`**, of those timed at {counted(fewest, 'size')} or "
        f"more{where}. `{OURS}` is more than 1 % faster at {won} of "
        f"{counted(len(bounds), 'size')}, more than 1 % slower at {lost}, and "
        f"{number(mean[strongest].value, 3)} times as fast in the geometric mean."
    )


def _of_others(ranks: pd.DataFrame) -> pd.Series:
    """Return where another project's softmax or log-softmax ranks."""
    peers = ranks["variant"].str.startswith("peer_") & ranks["rank"].notna()
    return peers & ranks["op"].isin(ranks.loc[ranks["variant"] == OURS, "op"])


def _logits(ranks: pd.DataFrame) -> str | None:
    """Return which kernels of OPS_ON_LOGITS are right, and how fast ours is; None without rows.

    The times are those of the GPU that has most sizes.
    """
    sizes = ranking.over_sweeps(ranks)
    sizes = sizes[sizes["op"].isin(OPS_ON_LOGITS)]
    ours = sizes[sizes["variant"] == OURS_OF_LOGITS]
    if ours.empty:
        return None
    are_wrong = sizes[WRONG].map(lambda names: any(word in names for word in MASKED))
    wrong = sorted(set(sizes.loc[are_wrong, "variant"]), key=palette.order)
    *first, last = [f"`{name}`" for name in wrong] or ["no other kernel"]
    mistaken = f"{', '.join(first)} and {last}" if first else last
    gpu = ours["gpu"].value_counts().index[0]
    sizes, ours = sizes[sizes["gpu"] == gpu], ours[ours["gpu"] == gpu]
    return (
        "**Masked logits break other projects' kernels.** Where the first thousands of logits, or "
        f"all but one, are -inf, {mistaken} {'compute' if first else 'computes'} [wrong "
        "log-probabilities or "
        f"losses](docs/special_rows.md). `{OURS_OF_LOGITS}` is "
        f"{'wrong, too' if OURS_OF_LOGITS in wrong else 'right'}. At "
        f"{counted(len(ours), 'point')} measured on an {gpu.upper()} it is "
        f"{number(geometric_mean(ours['speedup']), 2)} times as fast as torch functions composed "
        f"in float32 (geometric mean){_over_rivals(sizes)}."
    )


def _over_rivals(sizes: pd.DataFrame) -> str:
    """Return where ours is faster than the best other kernel, and where slower; "" without one."""
    leads = ranking.leads(sizes, OURS_OF_LOGITS, torch=False)
    if leads.empty:
        return ""
    lead = leads["lead"]
    won, lost = ((ratios > goals.LEVEL_WITH).sum() for ratios in (lead, 1 / lead))
    text = (
        f". It is more than 1 % faster than the best other kernel at {won} of "
        f"{counted(len(leads), 'point')}, and more than 1 % slower at {lost}"
    )
    if not lost:
        return text
    worst = dict(zip(SIZE, lead.idxmin(), strict=True))
    where = f"{worst['M']}x{worst['N']} in {worst['dtype']}"
    return f"{text}: at worst by {percent(1 / lead.min() - 1)}, at {where}"


def _losses(all_ranks: pd.DataFrame, gpus: list[str]) -> str:
    """Return where `frontier` is furthest behind, and how often it misses what it aims at."""
    reached = {gpu: goals.reached(all_ranks[all_ranks["gpu"] == gpu]) for gpu in gpus}
    first = gpus[0]
    sizes = ranking.over_sweeps(all_ranks[all_ranks["gpu"] == first])
    mean, meet = eager.over_torch(sizes, OURS), reached[first]["meet"]
    behind = " and ".join(
        f"{percent(size['value'] - 1, 1)} behind at {goals.point(size)} on the {gpu.upper()}"
        for gpu, sizes_of_goal in reached.items()
        for size in sizes_of_goal["level"][:1].reset_index().to_dict("records")
    )
    called = f"{mean.slower} of {counted(mean.sizes, 'size')}" if mean else "no size"
    few = f"at most {goals.FEW_ROWS} rows of at least {goals.SOFTMAX_GOALS.long_row} columns"
    slower_us = math.ceil(mean.slower_us) if mean else 0
    level = reached[first]["level"]
    lost = f"{(~level['met']).sum()} of {counted(len(level), 'size')} with a rival"
    return (
        f"**Where it loses.** `{OURS}` is more than 1 % behind the fastest at {lost}; at worst it "
        f"is {behind}. At {called} its kernel is faster "
        f"than torch's but an eager call is slower, because its launch costs the host more; all "
        f"these kernels take less than {slower_us} µs.{_backward_loss(sizes)} "
        f"With {few} it reaches 95 % of the attainable bandwidth at only {meet['met'].sum()} of "
        f"{counted(len(meet), 'size')}: many blocks share a row and must wait for each other."
    )


def _backward_loss(sizes: pd.DataFrame) -> str:
    """Return where the gradient kernel of the library is furthest behind; "" if it never is.

    `sizes`: lines of `ranking.over_sweeps`.
    """
    own = sizes[(sizes["variant"] == OUR_BACKWARD) & (sizes["behind_best"] > goals.LEVEL_WITH)]
    if own.empty:
        return ""
    last = own.loc[own["behind_best"].idxmax()]
    behind = f"{percent(last['behind_best'] - 1, 1)} behind at {goals.point(last)}"
    return f" The gradient, `{OUR_BACKWARD}`, is at worst {behind}."


def _line(place: tuple, part: pd.DataFrame) -> list[str]:
    """Return the cells of a point; `part`: its variants, the fastest first."""
    op, dtype, rows, columns = place
    first = part.iloc[0]
    signs = (part[WRONG] != "").map({True: WRONG_SIGN, False: ""})
    best = ("`" + part["variant"] + "`" + signs)[part["in_best_set"]].tolist()
    names = best_set(best) if best else f"`{first['variant']}`, no rival timed"
    return [
        f"{op}, {rows}x{columns}, {dtype}",
        first["gpu"].upper() + OLDER * (first["stale"] == "true"),
        f"{number(first['torch_us'], 3)} µs",
        names,
        f"{number(first['time_us'], 3)} µs",
        f"{number(first['speedup'], 3)}",
        percent(frame.of_limit(part).iloc[0]),
    ]


BLOCKS = {"headline": headline, "findings": findings, "points": points}

if __name__ == "__main__":
    print_block(BLOCKS, recorded)
