"""Claims S0: online and fused softmax on an A100, and the cache trick."""

import math
from functools import partial

from analysis import statistics as stats
from analysis.claims import claim as terms
from analysis.claims.claim import FAILS, HOLDS, INCONCLUSIVE, Claim, Evidence, Finding, Protocol
from analysis.schema import BASELINE
from analysis.statistics import Estimate

# N = 2^18 is not in the article's table: only claim S0-c asks for it.
ONLINE = Protocol("online_softmax", {2**i: 1024 for i in range(8, 19)}, ("uniform",))
TABLE = "a100_online_softmax_2024.csv"
SIZES = [n for n in ONLINE.shapes if n <= 2**17]  # the sizes of the article's table
LARGEST = 2**17
TURN = 65536  # from here on, the article says, fused is bad
OTHERS = ("triton_tiled", "triton_tiled_nocache", "triton_online", "triton_online_nocache")
MIN_SIZES = 5  # half of the protocol


def online_faster(evidence: Evidence) -> Finding:
    """S0-a. Reduction of time by triton_online at 1024x131072: 1 - 1/speed-up over torch.

    See claim.verdict_on_number, applied to speed-ups: 26.1 % is 1.353x.
    """
    ratio = evidence.speed_ratio("triton_online", BASELINE, LARGEST)
    decided = terms.verdict_on_number(ratio, 1 / (1 - 0.261), decimals=3)
    why = f"a speed-up of {terms.interval(ratio)} at N = {LARGEST}{terms.close(decided)}; "
    why += "26.1 % less time is 1.353x"
    return Finding(decided, why, *(1 - 1 / x for x in (ratio.value, *ratio.interval)))


def online_stable(evidence: Evidence) -> Finding:
    """S0-a, "stable": the share of the ten sizes at which triton_online is faster than torch.

    Holds when it is significantly faster at all; does not hold when torch is at one. Needs
    MIN_SIZES.
    """
    every = evidence.speed_ratios("triton_online", BASELINE, MIN_SIZES)
    return _share(terms.sides(every), "faster", "slower")


def fused_turns(evidence: Evidence) -> Finding:
    """S0-b. triton_fused is the fastest of the five Triton versions below 65536, not from there.

    At each size: fused against the fastest other version that is timed; a fused that cannot run
    (unsupported, compile_error) is not the fastest. Holds when every size is significantly on its
    side; does not hold when one is on the other side. Needs MIN_SIZES, among them one on each side
    of the turn.
    """
    every = {n: ratio for n in SIZES if (ratio := _over_other(evidence, n))}
    if len(every) < MIN_SIZES or min(every) >= TURN or max(every) < TURN:
        evidence.speed_ratios("triton_fused", "triton_online", least=MIN_SIZES)
        raise terms.NoDataError(f"sizes on both sides of N = {TURN} are needed")
    claimed = {n: e._replace(log=-e.log) if n >= TURN else e for n, e in every.items()}
    return _share(terms.sides(claimed), "as claimed", "the other way")


def _share(sides: dict[int, str], as_claimed: str, otherwise: str) -> Finding:
    """Return the share of the sizes that are above 1; the claim is about every size."""
    above = list(sides.values()).count(terms.ABOVE)
    why = (
        f"{as_claimed} at {above} of {len(sides)} sizes; "
        f"{otherwise} at {terms.sizes_on(terms.BELOW, sides)}; "
        f"too close to call at {terms.sizes_on(terms.UNCLEAR, sides)}"
    )
    return Finding(terms.verdict_on_all(sides.values()), why, above / len(sides))


def _over_other(evidence: Evidence, n: int) -> Estimate | None:
    """Return the speed of fused over the fastest other version at `n`; None when not known."""
    others = [name for name in OTHERS if evidence.is_timed(name, n)]
    fused = evidence.rows.get(("triton_fused", n))
    if not others or fused is None:
        return None
    if fused["status"] in ("unsupported", "compile_error"):
        return Estimate(-math.inf)
    if not evidence.is_timed("triton_fused", n):
        return None
    others = [name for name in others if evidence.on_one_board("triton_fused", name, n)]
    if not others:
        return None
    ratios = [evidence.speed_ratio("triton_fused", name, n) for name in others]
    return min(ratios, key=lambda ratio: ratio.log)


def fused_limit(evidence: Evidence) -> Finding:
    """S0-c. triton_fused cannot start at N = 262144, while it runs at 131072.

    Holds when the row at 262144 is unsupported or compile_error and the one at 131072 is ok; does
    not hold when 262144 is ok. Anything else, such as out_of_memory (of the device, not of the
    launch), decides nothing.
    """
    below = evidence.row("triton_fused", LARGEST)
    beyond = evidence.row("triton_fused", 2 * LARGEST)
    outcome = f"{beyond['status']} at N = {2 * LARGEST}"
    outcome += f" ({beyond['message']})" if beyond["message"] else ""
    if beyond["status"] == "ok":
        return Finding(FAILS, f"it ran: {outcome}", 2 * LARGEST)
    if beyond["status"] in ("unsupported", "compile_error") and below["status"] == "ok":
        return Finding(HOLDS, f"ok at N = {LARGEST}, {outcome}", LARGEST)
    raise terms.NoDataError(f"{below['status']} at N = {LARGEST}, {outcome}")


def cache_trick(cached: str):
    """S0-d, for one kernel: time without the cache trick over time with it.

    Geometric mean over the sizes: holds when it is significantly above 1, does not hold when below.
    Needs MIN_SIZES.
    """

    def judge(evidence: Evidence) -> Finding:
        every = evidence.speed_ratios(cached, f"{cached}_nocache", MIN_SIZES)
        mean = stats.geometric_mean(every.values())
        decided, sides = terms.verdict(mean), terms.sides(every)
        why = (
            f"geometric mean {terms.interval(mean)} over {len(every)} sizes{terms.close(decided)}; "
            f"slower with the trick at {terms.sizes_on(terms.BELOW, sides)}; "
            f"no significant difference at {terms.sizes_on(terms.UNCLEAR, sides)}"
        )
        return Finding.of(decided, mean, why)

    return judge


def difference(evidence: Evidence) -> Finding:
    """S0-e. Maximum |online - torch| at 1024x32768, bounded by the two errors against float64.

    The rows hold each one's largest error against float64, e and t, not their difference, which
    lies between |e - t| and e + t. Holds when e + t is at most 1.5e-11 to two digits (below
    1.55e-11); does not hold when |e - t| is not; otherwise inconclusive.
    """
    rows = [evidence.row(name, 32768) for name in ("triton_online", BASELINE)]
    e, t = (row["max_abs_error"] if row["status"] == "ok" else math.nan for row in rows)
    if not (math.isfinite(e) and math.isfinite(t)):
        raise terms.NoDataError("an error against float64 is not in the rows")
    low, high = abs(e - t), e + t
    limit = 1.55e-11
    decided = HOLDS if high < limit else FAILS if low >= limit else INCONCLUSIVE
    why = (
        f"not the difference itself but its bounds: errors against float64 are {e:.2e} (online) "
        f"and {t:.2e} (torch), so the difference is between {low:.2e} and {high:.2e}"
    )
    return Finding(decided, why, high, low, high)


claim = partial(Claim, protocol=ONLINE, table=TABLE)

CLAIMS = [
    claim(
        "S0-a",
        "the online version is 26.1 % faster than torch",
        "reduction of time by triton_online at 1024x131072",
        online_faster,
        stated=0.261,
    ),
    claim(
        "S0-a",
        "and it is so stably",
        "share of sizes where triton_online is faster than torch",
        online_stable,
    ),
    claim(
        "S0-b",
        "fused is the best of the Triton versions for N < 65536 and bad beyond",
        "share of sizes where the ranking among the article's five Triton versions is as claimed",
        fused_turns,
    ),
    claim(
        "S0-c",
        "fused cannot start past N = 131072",
        "largest N at which triton_fused is known to run",
        fused_limit,
        table="",
        untabled="stated in the text only, the table ends at N = 131072",
        stated=LARGEST,
    ),
    *(
        claim(
            "S0-d",
            "walking backwards over the row (cache trick) helps",
            f"time without / with the trick, {name}, geometric mean over N",
            cache_trick(name),
        )
        for name in ("triton_tiled", "triton_online")
    ),
    claim(
        "S0-e",
        "the maximum difference from torch is about 1.5e-11 at 1024x32768 uniform",
        "upper bound of the largest |triton_online - torch_softmax| at 1024x32768",
        difference,
        table="",
        untabled="stated in the text only, the table has times",
        stated=1.5e-11,
    ),
]
