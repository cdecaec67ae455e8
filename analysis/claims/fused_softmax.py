"""Claims of S1, S2 and S4, fused softmax, which share a protocol, and S3, OneFlow's softmax."""

from functools import partial

from analysis import statistics as stats
from analysis.claims import claim as terms
from analysis.claims.claim import Claim, Evidence, Finding, Protocol
from analysis.schema import BASELINE

FUSED = Protocol("fused_softmax", {128 * i: 4096 for i in range(2, 100)}, ("normal",))
TABLE = "rtx3090_fused_softmax_2024.csv"
# A tenth of the protocol's 98 sizes; every eighth of them (13) is a sweep that people run.
MIN_SIZES = 10
SMALLEST, S2_SIZE = 256, 12160
# The source used constant input; our own sweep uses normal (constant data draws less power).
ONEFLOW = Protocol("oneflow", {s: 32 * 64 * s for s in (16, 32, 64, 128, 512)}, ("normal", "ones"))
ONEFLOW_TABLE = "a100_oneflow_vs_fastertransformer.csv"
PAIR = ("cuda_oneflow", "cuda_fastertransformer")


def mean_faster(fast: str, slow: str, stably: bool = False):
    """S1-a, S4-a. Geometric mean over the protocol of the speed of `fast` over `slow`.

    Holds when the mean is significantly above 1, does not hold when below. `stably`: the same of
    every size, and the range of the ratios is reported. Needs MIN_SIZES of the 98 sizes.
    """

    def judge(evidence: Evidence) -> Finding:
        every = evidence.speed_ratios(fast, slow, MIN_SIZES)
        mean = stats.geometric_mean(every.values())
        sides = terms.sides(every)
        decided = terms.verdict_on_all([terms.side(mean), *(sides.values() if stably else [])])
        values = [ratio.value for ratio in every.values()]
        spread = f", from {min(values):.3f}x to {max(values):.3f}x" if stably else ""
        why = (
            f"geometric mean {terms.interval(mean)} over {len(every)} of {len(FUSED.shapes)} sizes"
            f"{terms.close(decided)}{spread}; slower at {terms.sizes_on(terms.BELOW, sides)}"
        )
        return Finding.of(decided, mean, why)

    return judge


def faster_by(slow: str, stated: float):
    """S2-a. Speed of triton_row over `slow` at N = 12160, claimed to be `stated`.

    See claim.verdict_on_number.
    """

    def judge(evidence: Evidence) -> Finding:
        ratio = evidence.speed_ratio("triton_row", slow, S2_SIZE)
        decided = terms.verdict_on_number(ratio, stated, decimals=2)
        measured = f"{terms.interval(ratio)} at N = {S2_SIZE}{terms.close(decided)}"
        return Finding.of(decided, ratio, f"{measured}, the article says {stated}x")

    return judge


def torch_ahead(evidence: Evidence) -> Finding:
    """S2-b. Speed of torch over triton_row at N = 256, the smallest size of the protocol.

    Holds when it is significantly above 1, does not hold when below.
    """
    ratio = evidence.speed_ratio(BASELINE, "triton_row", SMALLEST)
    every = evidence.speed_ratios(BASELINE, "triton_row", least=1)
    sides = terms.sides(every)
    ahead = list(sides.values()).count(terms.ABOVE)
    decided = terms.verdict(ratio)
    why = (
        f"torch is {terms.interval(ratio)} as fast at N = {SMALLEST}{terms.close(decided)}; ahead "
        f"at {ahead} of {len(every)} sizes ({terms.sizes_on(terms.ABOVE, sides)})"
    )
    return Finding.of(decided, ratio, why)


def oneflow_faster(evidence: Evidence) -> Finding:
    """S3-a. Speed of OneFlow over FasterTransformer at the five sizes; the value is the smallest.

    Holds when all five are significantly above 1, does not hold when one is below. Needs all five
    sizes. The sentence puts the published ratio beside each measured one.
    """
    every = {n: evidence.speed_ratio(*PAIR, n) for n in ONEFLOW.shapes}
    decided = terms.verdict_on_all(terms.sides(every).values())
    parts = []
    for n, ratio in every.items():
        source = evidence.published and evidence.published.speed_ratio(*PAIR, n)
        beside = f" (published {terms.interval(source)})" if source else ""
        parts.append(f"{terms.interval(ratio)} at N = {n}{beside}")
    smallest = min(every.values(), key=lambda ratio: ratio.log)
    return Finding.of(decided, smallest, "; ".join(parts) + terms.close(decided).replace(",", ";"))


claim = partial(Claim, protocol=FUSED, table=TABLE)

CLAIMS = [
    *(
        claim(
            "S1-a",
            "the fused Triton kernel beats torch and the naive version",
            f"speed of triton_persistent over {slow}, geometric mean over N",
            mean_faster("triton_persistent", slow),
            table="",
            untabled="the notes print no table",
        )
        for slow in (BASELINE, "torch_naive")
    ),
    *(
        claim(
            "S2-a",
            "Triton 833 GB/s against torch 436 and jit 283 at N = 12160",
            f"speed of triton_row over {slow} at 4096x12160",
            faster_by(slow, stated),
            stated=stated,
        )
        for slow, stated in ((BASELINE, 1.91), ("torch_jit", 2.95))
    ),
    claim(
        "S2-b",
        "torch is ahead at the smallest sizes",
        "speed of torch_softmax over triton_row at 4096x256",
        torch_ahead,
    ),
    Claim(
        "S3-a",
        "OneFlow is faster than FasterTransformer at every seq_len",
        "smallest speed ratio over the five sizes",
        oneflow_faster,
        ONEFLOW,
        ONEFLOW_TABLE,
    ),
    claim(
        "S4-a",
        "Triton is slightly and stably faster than torch",
        "speed of triton_row over torch_softmax, geometric mean over N",
        mean_faster("triton_row", BASELINE, stably=True),
        table="",
        untabled="the article shows its results as a picture only",
    ),
]
