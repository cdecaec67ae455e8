"""Claims of S1, S2 and S4: fused softmax, the protocol that the three share."""

from functools import partial

from analysis import statistics as stats
from analysis.claims.claim import (
    FAILS,
    Claim,
    Evidence,
    Finding,
    Protocol,
    close,
    interval,
    listed,
    reaches,
    sizes_on,
    verdict,
)
from analysis.statistics import BASELINE

FUSED = Protocol("fused_softmax", {128 * i: 4096 for i in range(2, 100)}, ("normal",))
TABLE = "rtx3090_fused_softmax_2024.csv"
# A tenth of the protocol's 98 sizes; every eighth of them (13) is a sweep that people run.
MIN_SIZES = 10
SMALLEST, S2_SIZE = 256, 12160


def mean_faster(fast: str, slow: str, stably: bool = False):
    """S1-a, S4-a. Geometric mean over the protocol of the speed of `fast` over `slow`.

    Holds when the interval of the mean lies above 1, does not hold when below, otherwise too
    close to call. `stably`: does not hold either when `slow` is significantly faster at one size,
    and the range of the ratios is reported. Needs MIN_SIZES of the 98 sizes.
    """

    def judge(evidence: Evidence) -> Finding:
        every = evidence.speed_ratios(fast, slow, MIN_SIZES)
        mean = stats.geometric_mean(every.values())
        loses = sizes_on("below", every)
        decided = FAILS if stably and loses else verdict(mean)
        values = [ratio.value for ratio in every.values()]
        spread = f", from {min(values):.3f}x to {max(values):.3f}x" if stably else ""
        why = (
            f"geometric mean {interval(mean)} over {len(every)} of {len(FUSED.shapes)} sizes"
            f"{close(decided)}{spread}; slower at {listed(loses)}"
        )
        return Finding.of(decided, mean, why)

    return judge


def faster_by(slow: str, stated: float):
    """S2-a. Speed of triton_row over `slow` at N = 12160, claimed to be `stated`.

    Holds when the interval lies above 1 and reaches the number given (claim.reaches).
    """

    def judge(evidence: Evidence) -> Finding:
        ratio = evidence.speed_ratio("triton_row", slow, S2_SIZE)
        decided = reaches(ratio, stated, decimals=2)
        why = f"{interval(ratio)} at N = {S2_SIZE}{close(decided)}, the article says {stated}x"
        return Finding.of(decided, ratio, why)

    return judge


def torch_ahead(evidence: Evidence) -> Finding:
    """S2-b. Speed of torch over triton_row at N = 256, the smallest size of the protocol.

    Holds when the interval lies above 1, does not hold when below, otherwise too close to call.
    """
    ratio = evidence.speed_ratio(BASELINE, "triton_row", SMALLEST)
    every = evidence.speed_ratios(BASELINE, "triton_row", least=1)
    ahead = sizes_on("above", every)
    decided = verdict(ratio)
    why = (
        f"torch is {interval(ratio)} as fast at N = {SMALLEST}{close(decided)}; ahead at "
        f"{len(ahead)} of {len(every)} sizes ({listed(ahead)})"
    )
    return Finding.of(decided, ratio, why)


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
    claim(
        "S4-a",
        "Triton is slightly and stably faster than torch",
        "speed of triton_row over torch_softmax, geometric mean over N",
        mean_faster("triton_row", BASELINE, stably=True),
        table="",
        untabled="the article shows its results as a picture only",
    ),
]
