"""Print what README.md says of the recorded rows: one sentence, three findings, a few points.

`python -m tools.readme headline` prints one block; `make docs` puts it between the comments that
name the command. All numbers are rounded to what a reader remembers; docs/results.md has the rest.
"""

import math
from statistics import geometric_mean

import pandas as pd

from analysis import palette, ranking
from analysis.markdown import counted, number, percent
from analysis.report.special_rows import WRONG
from analysis.schema import SIZE
from analysis.stats import eager
from tools import goals
from tools.goals import OURS, OURS_OF_LOGITS
from tools.inserts import bullets, print_block
from tools.results import recorded, shape_table

OUR_BACKWARD = "cuda_backward"
OPS_ON_LOGITS = ("token_log_prob", "cross_entropy")
MASKED = "-inf|one finite"  # Parts of the names of special rows with masked logits.
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
    "composition that trainers call, which casts to float32 first; only their forward pass is "
    "timed."
)


def headline(rows: pd.DataFrame) -> str:
    """Return one sentence on the kernel of this project, on the first recorded GPU."""
    gpu, ranks = _first_gpu(rows)
    mean = eager.over_torch(ranking.over_sweeps(ranks), OURS)
    if mean is None:
        return f"`{OURS}` was not timed on the {gpu}."
    peers = ranks[ranks["variant"].str.startswith("peer_") & ranks["rank"].notna()]
    level = goals.reached(ranks)["level"]
    level = level[level.index.isin(pd.MultiIndex.from_frame(peers[SIZE]))]
    return (
        f"On an {gpu}, this repository's softmax and log-softmax run "
        f"**{number(mean.graph, 2)} times as fast as PyTorch's** in CUDA graphs and "
        f"{number(mean.eager, 2)} times as fast in eager calls (geometric means of "
        f"{counted(mean.sizes, 'measured size')}; half of them gain at least "
        f"{number(mean.graph_median, 2)} times in a graph). Of the {counted(len(level), 'size')} "
        f"where another project's kernel was timed, it is the fastest or within 1 % of it at "
        f"{level['met'].sum()}.{goals.age(ranks, OURS)}"
    )


def findings(rows: pd.DataFrame) -> str:
    """Return what the rows of the first recorded GPU say, the losses among them."""
    gpu, ranks = _first_gpu(rows)
    sizes = ranking.over_sweeps(ranks)
    said = _long_rows(sizes), _closest_rival(sizes), _logits(sizes), _losses(ranks, sizes)
    return f"On an {gpu}:\n\n{bullets(filter(None, said))}"


def points(rows: pd.DataFrame) -> str:
    """Return a line for each of POINTS, on the first recorded GPU."""
    shapes = [("", *point) for point in POINTS]
    return f"{shape_table(rows, shapes, goals.order(rows)[:1])} {CONDITIONS}"


def _first_gpu(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return the name of the first recorded GPU, and its rows, ranked."""
    gpu, *_ = goals.order(rows)
    return gpu.upper(), ranking.rank_variants(rows[rows["gpu"] == gpu])


def _race(lead: pd.Series, rival: str = "the best other kernel") -> str:
    """Return how often a kernel is faster and slower by its `leads`, and its worst loss."""
    won, lost = goals.won_and_lost(lead)
    text = (
        f"more than 1 % faster than {rival} at {won} of {counted(len(lead), 'size')}, and more "
        f"than 1 % slower at {lost}"
    )
    if not lost:
        return text
    worst = dict(zip(lead.index.names, lead.idxmin(), strict=True))
    return f"{text}, at worst by {percent(1 / lead.min() - 1, 1)} at {goals.point(worst)}"


def _long_rows(sizes: pd.DataFrame) -> str:
    """Return which share of a copy's bandwidth torch and `frontier` reach at long rows."""
    own = sizes[(sizes["op"] == "softmax") & (sizes["variant"] == OURS) & (sizes["N"] > LONG_ROW)]
    own = own[own["throughput_gbps"] * own["time_us"] * goals.BYTES >= goals.LARGE]
    torch, ours = (
        percent(share.median()) for share in (own["of_copy"] / own["speedup"], own["of_copy"])
    )
    return (
        f"**torch is slow at long rows.** Where a row has more than {LONG_ROW} columns and a call "
        f"moves at least 128 MB, its softmax runs at {torch} of a copy's speed (median), and "
        f"`{OURS}` at {ours}."
    )


def _closest_rival(sizes: pd.DataFrame) -> str:
    """Return the strongest kernel of another project, and who wins against it how often."""
    fewest = ranking.MIN_MATRICES  # a rival of few sizes may be lucky
    leads = {name: lead for name, lead in goals.over_peers(sizes).items() if len(lead) >= fewest}
    if not leads:
        return f"**No other project's kernel was timed at {fewest} sizes.** See `make peers`."
    means = {name: geometric_mean(lead) for name, lead in leads.items()}
    closest = min(means, key=means.get)
    return (
        f"**Of the rivals timed at {fewest} or more sizes, `{closest}` comes closest:** `{OURS}` "
        f"is {number(means[closest], 3)} times as fast (geometric mean). It is "
        f"{_race(leads[closest], f'`{closest}`')}."
    )


def _logits(sizes: pd.DataFrame) -> str:
    """Return which kernels of OPS_ON_LOGITS are right, and how fast ours is; "" without rows."""
    sizes = sizes[sizes["op"].isin(OPS_ON_LOGITS)]
    ours = sizes[sizes["variant"] == OURS_OF_LOGITS]
    if ours.empty:
        return ""
    are_wrong = sizes[WRONG].str.contains(MASKED)
    wrong = sorted(set(sizes.loc[are_wrong, "variant"]), key=palette.order)
    names = ", ".join(f"`{name}`" for name in wrong) or "none"
    own = "wrong, too" if OURS_OF_LOGITS in wrong else "right"
    mean = number(geometric_mean(ours["speedup"]), 2)
    return (
        "**Masked logits break other projects' kernels.** Where the first thousands of logits, or "
        "all but one, are -inf, these kernels compute [wrong log-probabilities or "
        f"losses](docs/special_rows.md): {names}. `{OURS_OF_LOGITS}` is {own}, and {mean} times "
        "as fast as the same computation composed from torch functions in float32 (geometric "
        "mean). It is "
        f"{_race(ranking.leads(sizes, OURS_OF_LOGITS, against_torch=False)['lead'])}."
        f"{goals.age(ours, OURS_OF_LOGITS)}"
    )


def _losses(ranks: pd.DataFrame, sizes: pd.DataFrame) -> str:
    """Return where `frontier` is behind, and how often it misses what it aims at."""
    reached, mean = goals.reached(ranks), eager.over_torch(sizes, OURS)
    level, meet = reached["level"], reached["meet"]
    backward = ranking.leads(sizes, OUR_BACKWARD)["lead"]
    lost = f"{(~level['met']).sum()} of the {counted(len(level), 'size')} where any other kernel "
    lost += "besides torch was timed"
    worst = "".join(
        f", at worst by {percent(size['value'] - 1, 1)} at {goals.point(size)}"
        for size in level[:1].reset_index().to_dict("records")
    )
    texts = [f"**Where it loses.** `{OURS}` is more than 1 % behind the fastest at {lost}{worst}"]
    if mean and mean.slower:
        texts.append(
            f"At {mean.slower} of {counted(mean.sizes, 'size')} its kernel is faster than torch's "
            "but an eager call is slower, because launching it takes more host time; at all of "
            f"these sizes the kernel itself takes less than {math.ceil(mean.slower_us)} µs"
        )
    if len(backward):
        texts.append(f"The gradient, `{OUR_BACKWARD}`, is {_race(backward)}")
    texts.append(
        f"With at most {goals.FEW_ROWS} rows of at least {goals.LONG_ROW[OURS]} columns, `{OURS}` "
        f"reaches 95 % of the attainable bandwidth at only {meet['met'].sum()} of "
        f"{counted(len(meet), 'size')}: many blocks share a row and must wait for each other"
    )
    return ". ".join(texts) + "."


BLOCKS = {"headline": headline, "findings": findings, "points": points}

if __name__ == "__main__":
    print_block(BLOCKS, recorded)
