"""Claims of S1, S2 and S4: fused softmax, the protocol that the three share."""

from analysis import ratios
from analysis.claims.evidence import Evidence, interval, listed, sizes_on
from analysis.claims.protocol import FUSED
from analysis.claims.registry import FAILS, UNDECIDED, Claim, Finding, reaches, verdict
from analysis.ratios import BASELINE

TABLE = "rtx3090_fused_softmax_2024.csv"
# A tenth of the protocol's 98 sizes; every eighth of them (13) is a sweep that people run.
LEAST = 10
SMALLEST, S2_SIZE = 256, 12160


def mean_faster(fast: str, slow: str):
    """S1-a. Geometric mean over the protocol of the speed of `fast` over `slow`.

    Holds when the interval of the mean lies above 1, does not hold when below, otherwise too
    close to call. Needs ten of the 98 sizes; the sentence says how many there were.
    """

    def judge(evidence: Evidence) -> Finding:
        every = evidence.speed_ratios(fast, slow, LEAST)
        mean = ratios.geometric_mean(every.values())
        loses = sizes_on("below", every)
        close = ", too close to call" if mean.side() == "unclear" else ""
        why = (
            f"geometric mean {interval(mean)} over {len(every)} of {len(FUSED.shapes)} sizes"
            f"{close}; slower at {listed(loses)}"
        )
        return Finding.of(verdict(mean.side()), mean, why)

    return judge


def faster_by(slow: str, stated: float):
    """S2-a. Speed of triton_row over `slow` at N = 12160, claimed to be `stated`.

    Holds when the interval lies above 1 and reaches the number given (registry.reaches).
    """

    def judge(evidence: Evidence) -> Finding:
        ratio = evidence.speed_ratio("triton_row", slow, S2_SIZE)
        decided = reaches(ratio, stated, decimals=2)
        close = ", too close to call" if decided == UNDECIDED else ""
        why = f"{interval(ratio)} at N = {S2_SIZE}{close}, the article says {stated}x"
        return Finding.of(decided, ratio, why)

    return judge


def torch_ahead(evidence: Evidence) -> Finding:
    """S2-b. Speed of torch over triton_row at N = 256, the smallest size of the protocol.

    Holds when the interval lies above 1, does not hold when below, otherwise too close to call.
    The sentence lists every size where torch is surely ahead.
    """
    ratio = evidence.speed_ratio(BASELINE, "triton_row", SMALLEST)
    every = evidence.speed_ratios(BASELINE, "triton_row", least=1)
    ahead = sizes_on("above", every)
    close = ", too close to call" if ratio.side() == "unclear" else ""
    why = (
        f"torch is {interval(ratio)} as fast at N = {SMALLEST}{close}; ahead at "
        f"{len(ahead)} of {len(every)} sizes ({listed(ahead)})"
    )
    return Finding.of(verdict(ratio.side()), ratio, why)


def slightly_and_stably(evidence: Evidence) -> Finding:
    """S4-a. Speed of triton_row over torch over the protocol: geometric mean and spread.

    Faster: the interval of the mean lies above 1. Stably: torch is surely ahead at no size. Holds
    when both; does not hold when either is surely not so; otherwise too close to call. How slight
    is reported (smallest and largest ratio), not judged. Needs ten of the 98 sizes.
    """
    every = evidence.speed_ratios("triton_row", BASELINE, LEAST)
    mean = ratios.geometric_mean(every.values())
    loses = sizes_on("below", every)
    decided = FAILS if loses else verdict(mean.side())
    values = [ratio.value for ratio in every.values()]
    close = ", too close to call" if decided == UNDECIDED else ""
    why = (
        f"geometric mean {interval(mean)} over {len(every)} of {len(FUSED.shapes)} sizes{close}, "
        f"from {min(values):.3f}x to {max(values):.3f}x; slower at {listed(loses)}"
    )
    return Finding.of(decided, mean, why)


CLAIMS = [
    *(
        Claim(
            "S1-a",
            "the fused Triton kernel beats torch and the naive version",
            f"speed of triton_persistent over {slow}, geometric mean over N",
            FUSED,
            mean_faster("triton_persistent", slow),
            untabled="the notes print no table",
        )
        for slow in (BASELINE, "torch_naive")
    ),
    *(
        Claim(
            "S2-a",
            "Triton 833 GB/s against torch 436 and jit 283 at N = 12160",
            f"speed of triton_row over {slow} at 4096x12160",
            FUSED,
            faster_by(slow, stated),
            TABLE,
            stated=stated,
        )
        for slow, stated in ((BASELINE, 1.91), ("torch_jit", 2.95))
    ),
    Claim(
        "S2-b",
        "torch is ahead at the smallest sizes",
        "speed of torch_softmax over triton_row at 4096x256",
        FUSED,
        torch_ahead,
        TABLE,
    ),
    Claim(
        "S4-a",
        "Triton is slightly and stably faster than torch",
        "speed of triton_row over torch_softmax, geometric mean over N",
        FUSED,
        slightly_and_stably,
        untabled="the article shows its results as a picture only",
    ),
]
