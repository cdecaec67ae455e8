"""The claims of five sources, S0 to S4, and how each is judged."""

import math
from contextlib import suppress
from functools import partial

from analysis import markdown as md
from analysis import stats
from analysis.claims import verdict
from analysis.claims.claim import FAILS, HOLDS, INCONCLUSIVE, Claim, Finding, NoDataError, Protocol
from analysis.claims.evidence import Evidence
from analysis.schema import BASELINE
from analysis.stats import Estimate

OTHER_VERSIONS = ("triton_tiled", "triton_tiled_nocache", "triton_online", "triton_online_nocache")
OF_ARTICLE = ("uniform",), ("triton_fused", *OTHER_VERSIONS)
ONLINE = Protocol("online_softmax", {2**i: 1024 for i in range(8, 18)}, *OF_ARTICLE)
ONLINE_TABLE = "a100_online_softmax_2024.csv"
LARGEST = 2**17
BEYOND = Protocol("online_softmax", {LARGEST: 1024, 2 * LARGEST: 1024}, *OF_ARTICLE)
FUSED_LIMIT_N = 65536  # from here on, the article says, fused is bad
MIN_ONLINE = 5  # half of the protocol

FUSED = Protocol(
    "fused_softmax",
    {128 * i: 4096 for i in range(2, 100)},
    ("normal",),
    ("triton_persistent", "triton_row"),
)
FUSED_TABLE = "rtx3090_fused_softmax_2024.csv"
# A tenth of the protocol's 98 sizes. sweeps/fused_softmax.yaml has 14 of them.
MIN_FUSED = 10
SMALLEST, S2_SIZE = 256, 12160

# The source used constant input; our own sweep uses normal (constant data draws less power).
ONEFLOW = Protocol(
    "oneflow",
    {s: 32 * 64 * s for s in (16, 32, 64, 128, 512)},
    ("normal", "ones"),
    ("cuda_oneflow", "cuda_fastertransformer"),
)
ONEFLOW_TABLE = "a100_oneflow_vs_fastertransformer.csv"


def mean_faster(fast: str, slow: str, least: int, stably: bool = False):
    """Judge by the geometric mean over the sizes; if `stably`, by every size as well."""

    def judge(evidence: Evidence) -> Finding:
        every = evidence.speed_ratios(fast, slow, least)
        mean, sides = stats.geometric_mean(every.values()), verdict.sides_of(every)
        judged = [*verdict.sides_of({0: mean}).values(), *(sides.values() if stably else [])]
        decided = verdict.on_all(judged)
        close = verdict.too_close(decided) if verdict.UNCLEAR in judged else ""
        values = [ratio.value for ratio in every.values()]
        why = (
            f"geometric mean {verdict.text(mean)} over {len(every)} of "
            f"{len(evidence.protocol.shapes)} sizes{close} (the interval is of these sizes, this "
            f"board and this day), from {min(values):.3f}x "
            f"to {max(values):.3f}x; slower at {verdict.sizes_on(verdict.BELOW, sides)}; "
            f"no significant difference at {verdict.sizes_on(verdict.UNCLEAR, sides)}"
        )
        return Finding.of(decided, mean, why)

    return judge


def faster_by(
    fast: str, slow: str, n: int, *, stated: float, decimals: int, reduction: bool = False
):
    """Judge the speed at one size against `stated`; `reduction`: both are the share of time saved.

    A source prints 2.948 as 2.95, so half a unit of the last of `decimals` is allowed.
    """
    least = stated - 0.5 * 10**-decimals
    speed, least = (1 / (1 - x) if reduction else x for x in (stated, least))

    def judge(evidence: Evidence) -> Finding:
        ratio = evidence.speed_ratio(fast, slow, n)
        decided = verdict.on_number(ratio, least)
        why = f"{verdict.text(ratio)} at N = {n}{verdict.too_close(decided)}, "
        why += f"the article says {speed:.{decimals}f}x"
        values = ratio.value, *ratio.interval
        return Finding(decided, why, *((1 - 1 / x for x in values) if reduction else values))

    return judge


def online_stable(evidence: Evidence) -> Finding:
    """Judge "stably": triton_online is faster than torch at every size."""
    every = evidence.speed_ratios("triton_online", BASELINE, MIN_ONLINE)
    return _share(verdict.sides_of(every), "faster", "slower")


def fused_best_below_limit(evidence: Evidence) -> Finding:
    """Judge: fused is faster than all others below FUSED_LIMIT_N, and slower than one from there.

    Where fused cannot run (unsupported, compile_error), it counts as slower.
    """
    every = {n: ratios for n in ONLINE.shapes if (ratios := _over_others(evidence, n))}
    if len(every) < MIN_ONLINE or min(every) >= FUSED_LIMIT_N or max(every) < FUSED_LIMIT_N:
        raise NoDataError(
            f"triton_fused and another version are timed at {len(every)} sizes; {MIN_ONLINE} are "
            f"needed, on both sides of N = {FUSED_LIMIT_N} ({evidence.counts('triton_fused')})"
        )
    p = {n: verdict.p_values(ratios) for n, ratios in every.items()}
    claimed = {n: pair[::-1] if n >= FUSED_LIMIT_N else pair for n, pair in p.items()}
    return _share(verdict.sides(claimed), "as claimed", "the other way")


def _share(sides: dict[int, str], as_claimed: str, otherwise: str) -> Finding:
    """Return the share of the sizes that are above 1; the claim is about every size."""
    above = list(sides.values()).count(verdict.ABOVE)
    why = (
        f"{as_claimed} at {above} of {len(sides)} sizes (the protocol has {len(ONLINE.shapes)}); "
        f"{otherwise} at {verdict.sizes_on(verdict.BELOW, sides)}; "
        f"too close to call at {verdict.sizes_on(verdict.UNCLEAR, sides)}"
    )
    lacking = len(ONLINE.shapes) - len(sides)
    why += f"; {md.counted(lacking, 'size')} cannot be compared" * (lacking > 0)
    return Finding(verdict.on_all(sides.values()), why, above / len(sides))


def _over_others(evidence: Evidence, n: int) -> list[Estimate]:
    """Return the speed of fused over each other version that is timed at `n`."""
    fused = evidence.rows.get(("triton_fused", n), {"status": ""})
    if fused["status"] in ("unsupported", "compile_error"):
        return [Estimate(-math.inf) for name in OTHER_VERSIONS if evidence.is_timed(name, n)]
    every = []
    for name in OTHER_VERSIONS:
        with suppress(NoDataError):
            every.append(evidence.speed_ratio("triton_fused", name, n))
    return every


def fused_limit(evidence: Evidence) -> Finding:
    """Judge by the status beyond LARGEST; out_of_memory depends on the GPU and decides nothing."""
    below = evidence.row("triton_fused", LARGEST)
    beyond = evidence.row("triton_fused", 2 * LARGEST)
    outcome = f"{beyond['status']} at N = {2 * LARGEST}"
    outcome += f" ({beyond['message']})" if beyond["message"] else ""
    if beyond["status"] == "ok":
        return Finding(FAILS, f"it ran: {outcome}", 2 * LARGEST)
    if beyond["status"] in ("unsupported", "compile_error") and below["status"] == "ok":
        return Finding(HOLDS, f"ok at N = {LARGEST}, {outcome}", LARGEST)
    raise NoDataError(f"{below['status']} at N = {LARGEST}, {outcome}")


def max_difference(evidence: Evidence) -> Finding:
    """Judge by bounds: for errors e and t against float64, |e - t| <= difference <= e + t."""
    rows = [evidence.row(name, 32768) for name in ("triton_online", BASELINE)]
    e, t = (row["max_abs_error"] if row["status"] == "ok" else math.nan for row in rows)
    if not (math.isfinite(e) and math.isfinite(t)):
        raise NoDataError("an error against float64 is not in the rows")
    low, high, limit = abs(e - t), e + t, 1.55e-11  # 1.5e-11 to two digits
    decided = HOLDS if high < limit else FAILS if low >= limit else INCONCLUSIVE
    why = (
        f"not the difference itself but its bounds: errors against float64 are {e:.2e} (online) "
        f"and {t:.2e} (torch), so the difference is between {low:.2e} and {high:.2e}"
    )
    return Finding(decided, why, high, low, high)


def torch_ahead(evidence: Evidence) -> Finding:
    """Judge torch over triton_row at the smallest size of the protocol."""
    ratio = evidence.speed_ratio(BASELINE, "triton_row", SMALLEST)
    sides = verdict.sides_of(evidence.speed_ratios(BASELINE, "triton_row", least=1))
    decided = verdict.on_all(verdict.sides_of({SMALLEST: ratio}).values())
    why = (
        f"torch is {verdict.text(ratio)} as fast at N = {SMALLEST}{verdict.too_close(decided)}; "
        f"ahead at {verdict.sizes_on(verdict.ABOVE, sides)} of {len(sides)} sizes"
    )
    return Finding.of(decided, ratio, why)


def oneflow_faster(evidence: Evidence) -> Finding:
    """Judge OneFlow over FasterTransformer at all five sizes, each beside the published ratio."""
    pair = "cuda_oneflow", "cuda_fastertransformer"
    every = {n: evidence.speed_ratio(*pair, n) for n in ONEFLOW.shapes}
    decided = verdict.on_all(verdict.sides_of(every).values())
    parts = []
    for n, ratio in every.items():
        source = evidence.published and evidence.published.speed_ratio(*pair, n)
        beside = f" (published {verdict.text(source)})" if source else ""
        parts.append(f"{verdict.text(ratio)} at N = {n}{beside}")
    smallest = min(every.values(), key=lambda ratio: ratio.log)
    return Finding.of(decided, smallest, "; ".join(parts) + verdict.too_close(decided))


online = partial(Claim, protocol=ONLINE, table=ONLINE_TABLE)
in_text = partial(Claim, protocol=ONLINE, untabled="stated in the text only, not in the table")
fused = partial(Claim, protocol=FUSED, table=FUSED_TABLE)

CLAIMS = [
    online(
        "S0-a",
        "the online version is 26.1 % faster than torch",
        "reduction of time by triton_online at 1024x131072",
        faster_by("triton_online", BASELINE, LARGEST, stated=0.261, decimals=3, reduction=True),
        stated=0.261,
    ),
    online(
        "S0-a",
        "and it is so stably",
        "share of sizes where triton_online is faster than torch",
        online_stable,
    ),
    online(
        "S0-b",
        "fused is the best of the Triton versions for N < 65536 and bad beyond",
        "share of sizes where the ranking among the article's five Triton versions is as claimed",
        fused_best_below_limit,
    ),
    in_text(
        "S0-c",
        "fused cannot start past N = 131072",
        "largest N at which triton_fused is known to run",
        fused_limit,
        protocol=BEYOND,
        stated=LARGEST,
    ),
    *(
        online(
            "S0-d",
            "walking backwards over the row (cache trick) helps",
            f"time without / with the trick, {name}, geometric mean over N",
            mean_faster(name, f"{name}_nocache", MIN_ONLINE),
        )
        for name in ("triton_tiled", "triton_online")
    ),
    in_text(
        "S0-e",
        "the maximum difference from torch is about 1.5e-11 at 1024x32768 uniform",
        "upper bound of the largest |triton_online - torch_softmax| at 1024x32768",
        max_difference,
        stated=1.5e-11,
    ),
    *(
        Claim(
            "S1-a",
            "the fused Triton kernel beats torch and the naive version",
            f"speed of triton_persistent over {slow}, geometric mean over N",
            mean_faster("triton_persistent", slow, MIN_FUSED),
            FUSED,
            untabled="the notes print no table",
        )
        for slow in (BASELINE, "torch_naive")
    ),
    *(
        fused(
            "S2-a",
            "Triton 833 GB/s against torch 436 and jit 283 at N = 12160",
            f"speed of triton_row over {slow} at 4096x12160",
            faster_by("triton_row", slow, S2_SIZE, stated=stated, decimals=2),
            stated=stated,
        )
        for slow, stated in ((BASELINE, 1.91), ("torch_jit", 2.95))
    ),
    fused(
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
    Claim(
        "S4-a",
        "Triton is slightly and stably faster than torch",
        "speed of triton_row over torch_softmax, geometric mean over N",
        mean_faster("triton_row", BASELINE, MIN_FUSED, stably=True),
        FUSED,
        untabled="the article shows its results as a picture only",
    ),
]
