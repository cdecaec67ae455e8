"""Print what README.md says of the recorded rows: one sentence, the findings, a few points.

`python -m tools.readme headline` prints one block; `make docs` puts it between the comments that
name the command. All numbers are rounded to what a reader remembers; docs/results.md has the rest.
"""

import math
from collections.abc import Iterable
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
MOST_RIVALS = 4  # that have their own losses
CONDITIONS = (
    "Times of an {} in CUDA graphs, with a cold cache. 100 % of the limit is the speed of a copy, "
    "or of a read where an operation returns one value per row. For functions of logits, "
    "torch is the composition that trainers call, which casts to float32 first; only their "
    "forward pass is timed."
)


def headline(rows: pd.DataFrame) -> str:
    """Return one sentence on the kernel of this project, on the first recorded GPU."""
    gpu, ranks = _first_gpu(rows)
    sizes = ranking.over_sweeps(ranks).query("op == 'softmax'")
    half, single = (
        eager.over_torch(sizes[sizes["dtype"] == dtype], OURS) for dtype in ("bfloat16", "float32")
    )
    return (
        f"On an {gpu}, the softmax of `softmax_bench` is **{number(half.graph, 2)} times as fast "
        f"as PyTorch's in bfloat16 and {number(single.graph, 2)} times in float32** (in CUDA "
        f"graphs; in eager calls {number(half.eager, 2)} and {number(single.eager, 2)} times; "
        f"geometric means of {half.sizes} and {single.sizes} measured sizes)."
    )


def findings(rows: pd.DataFrame) -> str:
    """Return what the rows of the first recorded GPU say, the losses among them."""
    _, ranks = _first_gpu(rows)
    sizes = ranking.over_sweeps(ranks)
    long = sizes[(sizes["op"] == "softmax") & (sizes["variant"] == OURS) & (sizes["N"] > LONG_ROW)]
    long = long[long["throughput_gbps"] * long["time_us"] * goals.BYTES >= goals.LARGE]
    theirs = percent((long["of_copy"] / long["speedup"]).median())
    ours = percent(long["of_copy"].median())
    peers, judged = goals.over_peers(sizes), goals.judged_sizes(ranks)
    met, meet = judged["level"]["met"], judged["meet"]["met"]
    raced = met[met.index.isin(pd.concat(peers.values()).index)]
    often = [peer for peer, lead in peers.items() if len(lead) >= ranking.MIN_MATRICES]
    closest = min(often, key=lambda peer: geometric_mean(peers[peer]))
    lead = number(geometric_mean(peers[closest]), 3)
    first = ranking.wins(ranks[(ranks["sweep"] == "peers") & (ranks["rank"] == 1)])
    is_first = ", ".join(f"`{name}` at {count}" for name, count in first.items())
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
        f"**torch is slow at long rows.** Where a row has more than {LONG_ROW} columns and a call "
        f"moves at least 128 MB, its softmax runs at {theirs} of a copy's speed (median), and "
        f"`{OURS}` at {ours}.",
        f"**Other projects' kernels are closer.** Of the {len(raced)} sizes where one was timed, "
        f"`{OURS}` is the fastest or within 1 % of it at {raced.sum()}. It is {lead} times as "
        f"fast as its closest rival, `{closest}` (geometric mean of "
        f"{counted(len(peers[closest]), 'size')}).",
        f"**Functions of logits.** `{OURS_OF_LOGITS}` is faster than the torch functions that "
        f"trainers compose: token log-probabilities {speed['token_log_prob', 'bfloat16']} in "
        f"bfloat16 and {speed['token_log_prob', 'float32']} in float32, cross-entropy "
        f"{speed['cross_entropy', 'bfloat16']} in bfloat16 (geometric means).",
        f"**Masked logits break QuACK's, Liger's and TRL's kernels.** Where all logits but one are "
        f"-inf, {wrong} return [wrong log-probabilities or losses](docs/special_rows.md). "
        f"{_names(ranks.loc[is_nan, 'variant'])} return NaN even on ordinary 16-bit rows of "
        f"{ranks.loc[is_nan, 'N'].max()} columns.",
        f"**Where `{OURS}` loses:** it is {_losses(sizes, OURS)}. At the "
        f"{first.sum()} points of the sweep with every rival, `peers`, the fastest is {is_first}.",
        f"**Where `{OURS_OF_LOGITS}` loses,** mostly at short and middle float32 rows: "
        f"it is {_losses(logits, OURS_OF_LOGITS)}.",
        f"**Few long rows.** With at most {goals.FEW_ROWS} rows of at least "
        f"{goals.LONG_ROW[OURS]} columns, `{OURS}` reaches 95 % of the attainable bandwidth at "
        f"{meet.sum()} of {counted(len(meet), 'size')}, because many blocks share a row and wait "
        "for each other.",
        f"**Small eager calls.** At {called.slower} of {counted(called.sizes, 'size')} the kernel "
        "is faster than torch's but an eager call without gradient is slower, because launching it "
        "takes more host time; all of these kernels take less than "
        f"{math.ceil(called.slower_us)} µs.",
        f"**Gradients** of other projects were not timed. `cuda_backward` is faster than torch's: "
        f"{' and '.join(gradients)} (geometric means).",
    )
    return bullets(texts)


def _speedups(sizes: pd.DataFrame, kernel: str) -> pd.Series:
    """Return how many times as fast as torch a kernel is at each size."""
    return sizes[sizes["variant"] == kernel].set_index(SIZE)["speedup"]


def _names(variants: Iterable[str]) -> str:
    """Return the different names, the last after `and`."""
    *names, last = (f"`{name}`" for name in sorted(set(variants), key=palette.order))
    return f"{', '.join(names)} and {last}" if names else last


def _losses(sizes: pd.DataFrame, kernel: str) -> str:
    """Return which kernels are ahead at how many sizes, and at which they are furthest ahead."""
    pairs = ranking.leads(sizes, kernel, against_torch=False).reset_index()
    lost = pairs[pairs["lead"] < 1 / goals.LEVEL].sort_values("lead")
    parts = [
        f"`{rival}` leads at {len(part)}, by up to {percent(1 / part['lead'].iloc[0] - 1)} "
        f"({goals.size_name(*part[SIZE[-4:]].iloc[0])})"
        for rival, part in sorted(lost.groupby("rival"), key=lambda item: -len(item[1]))
    ]
    named = "; ".join(parts[:MOST_RIVALS]) or "nowhere"
    return (
        f"more than 1 % behind the fastest at {len(lost)} of {counted(len(pairs), 'size')}: {named}"
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
