"""Print what README.md says of the recorded rows: one sentence, the findings, a few points.

`python -m tools.readme headline` prints one block; `make docs` puts it between the comments that
name the command. All numbers are rounded to what a reader remembers; docs/results.md has the rest.
"""

import math
from collections.abc import Iterable
from statistics import geometric_mean

import pandas as pd

import operations
from analysis import palette, ranking
from analysis.frame import roofline_share
from analysis.markdown import counted, number, percent, span
from analysis.report.special_rows import WRONG
from analysis.schema import SIZE
from analysis.stats import eager
from tools import goals
from tools.goals import OURS, OURS_OF_LOGITS
from tools.inserts import bullets, print_block
from tools.results import recorded, shape_table

LONG_ROW = 16384  # columns from which a row no longer fits in the registers of one block
# Points of the table: what people ask, and a few where little is to gain.
POINTS = (
    ("softmax", "bfloat16", 4096, 128256),
    ("cross_entropy", "bfloat16", 4096, 128256),
    ("token_log_prob", "bfloat16", 8192, 151936),
    ("log_softmax", "bfloat16", 4096, 128256),
    ("log_softmax_backward", "bfloat16", 4096, 128256),
    ("softmax", "float32", 64, 50257),
    ("softmax", "float16", 27581, 288),
    ("softmax", "float32", 1024, 4096),
    ("softmax", "float32", 1024, 256),
)
MOST_RIVALS = 3  # that have their own losses
RANDOM = "random"  # the sweep of shapes that nobody tuned for
CONDITIONS = (
    "Times of an {} in CUDA graphs, with a cold cache. 100 % of the limit is the speed of a copy, "
    "of a read where an operation returns one value per row, or the [second roofline]"
    "(docs/explanation/method.md#few-long-rows) of few long rows. For functions of logits, "
    "torch is the code that trainers use, which casts to float32 first; only their "
    "forward pass is timed."
)


def headline(rows: pd.DataFrame) -> str:
    """Return one sentence on the kernel of this project at RANDOM shapes, on the first GPU."""
    gpu, ranks = _first_gpu(rows)
    sizes = ranking.over_sweeps(ranks[ranks["sweep"] == RANDOM]).query("op == 'softmax'")
    half, single = (
        eager.over_torch(sizes[sizes["dtype"] == dtype], OURS) for dtype in ("bfloat16", "float32")
    )
    return (
        f"On an {gpu}, the softmax of the pip package `softmax_bench` is **{number(half.graph, 2)} "
        f"times as fast as PyTorch's in bfloat16 and {number(single.graph, 2)} times in float32** "
        f"at randomly drawn shapes that nobody tuned for (in CUDA graphs; in eager calls "
        f"{number(half.eager, 2)} and {number(single.eager, 2)} times; geometric means over "
        f"{span((half.sizes, single.sizes))} shapes each)."
    )


def findings(rows: pd.DataFrame) -> str:
    """Return what the rows of the first recorded GPU say, the losses among them."""
    _, ranks = _first_gpu(rows)
    sizes = ranking.over_sweeps(ranks)
    long = sizes[(sizes["op"] == "softmax") & (sizes["variant"] == OURS) & (sizes["N"] > LONG_ROW)]
    long = long[long["throughput_gbps"] * long["time_us"] * goals.BYTES >= goals.LARGE]
    shares = roofline_share(long)
    theirs, ours = percent((shares / long["speedup"]).median()), percent(shares.median())
    peers, judged = goals.over_peers(sizes), goals.judged_sizes(ranks)
    met, meet = judged["level"]["met"], judged["meet"]["met"]
    random = goals.judged_sizes(ranks[ranks["sweep"] == RANDOM])["level"]["met"]
    raced = met[met.index.isin(pd.concat(peers.values()).index)]
    often = [peer for peer, lead in peers.items() if len(lead) >= ranking.MIN_MATRICES]
    closest = min(often, key=lambda peer: geometric_mean(peers[peer]))
    lead = number(geometric_mean(peers[closest]), 3)
    first = ranking.wins(ranks[(ranks["sweep"] == "peers") & (ranks["rank"] == 1)])
    logits = sizes[sizes["op"].isin(("token_log_prob", "cross_entropy"))]
    speed = {
        key: f"{number(geometric_mean(part), 2)} times ({counted(len(part), 'size')})"
        for key, part in _speedups(logits, OURS_OF_LOGITS).groupby(["op", "dtype"])
    }
    wrong = _names(logits.loc[logits[WRONG].str.contains("one finite"), "variant"])
    is_nan = (ranks["status"] == "incorrect") & ranks["message"].str.contains("check: nan")
    called = eager.over_torch(sizes, OURS)
    gradients = [
        f"{number(geometric_mean(part), 2)} times ({counted(len(part), 'size')}) for {op}"
        for op, part in _speedups(sizes, "cuda_backward").groupby("op")
    ]
    texts = (
        f"**How often `{OURS}` wins.** Of the {len(met)} sizes of softmax and log-softmax where a "
        f"kernel besides torch's was timed, it is the fastest or within 1 % of it at {met.sum()}; "
        f"of the {len(random)} random shapes among them, at {random.sum()}.",
        f"**Where `{OURS}` loses.** {_losses(sizes, OURS)}",
        f"**torch is slow at long rows.** On rows longer than {LONG_ROW} columns, in calls that "
        f"move at least 128 MB, torch's softmax reaches {theirs} of the limit (median of "
        f"{counted(len(long), 'size')}) and `{OURS}` {ours}.",
        f"**Other projects' kernels are closer.** At {raced.sum()} of the {len(raced)} sizes where "
        f"at least one of them was timed, `{OURS}` is the fastest or within 1 % of it. It is "
        f"{lead} times as fast as its closest rival, `{closest}` (geometric mean of the "
        f"{counted(len(peers[closest]), 'size')} where both were timed). But of the {first.sum()} "
        f"points of `peers`, the sweep with the most rivals, the fastest is {goals.tally(first)}.",
        f"**Functions of logits.** `{OURS_OF_LOGITS}` is faster than the torch code that RL "
        "trainers use today (log_softmax, then gather): "
        f"{speed['token_log_prob', 'bfloat16']} in bfloat16 and "
        f"{speed['token_log_prob', 'float32']} in float32; and than torch's cross-entropy: "
        f"{speed['cross_entropy', 'bfloat16']} in bfloat16 (geometric means)."
        f"{_older(logits, OURS_OF_LOGITS)}",
        f"**Where `{OURS_OF_LOGITS}` loses.** {_losses(logits, OURS_OF_LOGITS)}",
        f"**Masked logits break QuACK's, Liger's and TRL's kernels.** Where all logits but one are "
        f"-inf, {wrong} return [wrong log-probabilities or losses](docs/special_rows.md). "
        f"{_names(ranks.loc[is_nan, 'variant'])} return NaN even on ordinary 16-bit rows of "
        f"{ranks.loc[is_nan, 'N'].max()} columns.",
        f"**Few long rows.** `{OURS}` reaches 95 % of the limit at {meet.sum()} of "
        f"the {counted(len(meet), 'size')} with at most {goals.FEW_ROWS} rows of at least "
        f"{goals.LONG_ROW[OURS]} columns, because many blocks share a row and wait for each other.",
        f"**Small eager calls.** At {called.slower} of {counted(called.sizes, 'size')} of softmax "
        "and log-softmax the kernel is faster than torch's, but the host time of its launch makes "
        f"an eager call slower; each of those kernels runs for less than "
        f"{math.ceil(called.slower_us)} µs.",
        "**Gradients.** We did not time other projects' backward kernels. `cuda_backward` is "
        f"faster than torch's: {' and '.join(gradients)} (geometric means).",
        f"**What is recorded.** {_names(ranks['op'])} have results; "
        f"{_names(set(operations.names()) - set(ranks['op']))} can be timed, and have none yet.",
    )
    return bullets(texts)


def _speedups(sizes: pd.DataFrame, kernel: str) -> pd.Series:
    """Return how many times as fast as torch a kernel is at each size."""
    return sizes[sizes["variant"] == kernel].set_index(SIZE)["speedup"]


def _names(every: Iterable[str]) -> str:
    """Return the different names, kernels in the order of figures, the last after `and`."""
    *names, last = [f"`{name}`" for name in sorted(set(every), key=palette.order)] or ["nothing"]
    return f"{', '.join(names)} and {last}" if names else last


def _older(sizes: pd.DataFrame, kernel: str) -> str:
    """Return at how many sizes an older version of a kernel was measured; "" for none."""
    stale = sizes.loc[sizes["variant"] == kernel, "stale"] == "true"
    if not stale.any():
        return ""
    older = "an older version of the kernel was measured"
    return f" At {stale.sum()} of these {counted(len(stale), 'size')} {older}."


def _losses(sizes: pd.DataFrame, kernel: str) -> str:
    """Return which kernels are ahead at how many sizes, and where one is furthest ahead."""
    pairs = ranking.leads(sizes, kernel, against_torch=False).reset_index()
    lost = pairs[pairs["lead"] < 1 / goals.LEVEL].sort_values("lead")
    where = f"At {len(lost)} of the {counted(len(pairs), 'size')} where a kernel besides torch's "
    where += f"was timed, `{kernel}` is more than 1 % behind the fastest"
    if lost.empty:
        return f"{where}."
    counts = ranking.wins(lost.assign(variant=lost["rival"]))
    leaders = goals.tally(counts[:MOST_RIVALS], "leads")
    if others := counts[MOST_RIVALS:].sum():
        leaders += f", others at {others}"
    worst = lost.iloc[0]
    return (
        f"{where}: {leaders}. The largest loss is {percent(1 / worst['lead'] - 1)}, to "
        f"`{worst['rival']}` ({goals.size_name(*worst[SIZE[-4:]])}); "
        "[the results](docs/results.md#goals) list more."
    )


def points(rows: pd.DataFrame) -> str:
    """Return a line for each of POINTS, on the first recorded GPU."""
    gpu, *_ = goals.order(rows)
    shapes = [("", *point) for point in POINTS]
    return f"{shape_table(rows[rows['gpu'] == gpu], shapes)} {CONDITIONS.format(gpu.upper())}"


def _first_gpu(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return the name of the first recorded GPU, and its rows, ranked."""
    gpu, *_ = goals.order(rows)
    return gpu.upper(), ranking.rank_variants(rows[rows["gpu"] == gpu])


BLOCKS = {"headline": headline, "findings": findings, "points": points}

if __name__ == "__main__":
    print_block(BLOCKS, recorded)
