"""Claim S3-a: OneFlow against FasterTransformer."""

from analysis.claims.claim import (
    Claim,
    Evidence,
    Finding,
    Protocol,
    close,
    interval,
    verdict_on_all,
)

# The source used constant input; our own sweep uses normal (constant data draws less power).
ONEFLOW = Protocol("oneflow", {s: 32 * 64 * s for s in (16, 32, 64, 128, 512)}, ("normal", "ones"))
TABLE = "a100_oneflow_vs_fastertransformer.csv"
PAIR = ("cuda_oneflow", "cuda_fastertransformer")


def oneflow_faster(evidence: Evidence) -> Finding:
    """S3-a. Speed of OneFlow over FasterTransformer at the five sizes; the value is the smallest.

    Holds when all five lie above 1, does not hold when one lies below, otherwise too close to
    call. Needs all five sizes. The sentence puts the published ratio beside each measured one.
    """
    every = {n: evidence.speed_ratio(*PAIR, n) for n in ONEFLOW.shapes}
    decided = verdict_on_all([ratio.side() for ratio in every.values()])
    why = "; ".join(
        f"{interval(ratio)} at N = {n}{_published(evidence, n)}" for n, ratio in every.items()
    )
    smallest = min(every.values(), key=lambda ratio: ratio.value)
    return Finding.of(decided, smallest, why + close(decided).replace(",", ";"))


def _published(evidence: Evidence, n: int) -> str:
    if evidence.published is None:
        return ""
    return f" (published {interval(evidence.published.speed_ratio(*PAIR, n))})"


CLAIMS = [
    Claim(
        "S3-a",
        "OneFlow is faster than FasterTransformer at every seq_len",
        "smallest speed ratio over the five sizes",
        oneflow_faster,
        ONEFLOW,
        TABLE,
    )
]
