"""Claims S0-a and S0-b: how fast online and fused softmax are on an A100."""

from analysis.claims.evidence import Evidence, NotMeasurableError, interval, listed, sizes_on
from analysis.claims.protocol import ONLINE
from analysis.claims.registry import FAILS, HOLDS, UNDECIDED, Claim, Finding, reaches
from analysis.ratios import BASELINE

TABLE = "a100_online_softmax_2024.csv"
SIZES = [n for n in ONLINE.shapes if n <= 2**17]  # the sizes of the article's table
LARGEST = 2**17
TURN = 65536  # from here on, the article says, fused is bad
OTHERS = ("triton_tiled", "triton_tiled_nocache", "triton_online", "triton_online_nocache")
LEAST = 5  # half of the protocol: fewer sizes would not speak for it


def online_faster(evidence: Evidence) -> Finding:
    """S0-a. Reduction of time by triton_online at 1024x131072: 1 - 1/speed-up over torch.

    Holds when the speed-up's interval lies above 1 and the interval of the reduction reaches
    26.1 % (registry.reaches, applied to speed-ups: 26.1 % is 1.353x).
    """
    ratio = evidence.speed_ratio("triton_online", BASELINE, LARGEST)
    decided = reaches(ratio, 1 / (1 - 0.261), decimals=3)
    close = ", too close to call" if decided == UNDECIDED else ""
    why = f"a speed-up of {interval(ratio)} at N = {LARGEST}{close}; 26.1 % less time is 1.353x"
    return Finding(decided, why, 1 - 1 / ratio.value, 1 - 1 / ratio.low, 1 - 1 / ratio.high)


def online_stable(evidence: Evidence) -> Finding:
    """S0-a, "stable": at how many of the ten sizes triton_online is surely faster than torch.

    Holds when at all of them, does not hold when torch is surely faster at one, otherwise too
    close to call. Needs five sizes. The sentence lists the sizes where online loses.
    """
    every = evidence.speed_ratios("triton_online", BASELINE, LEAST)
    wins, loses, close = (sizes_on(side, every) for side in ("above", "below", "unclear"))
    decided = FAILS if loses else UNDECIDED if close else HOLDS
    why = (
        f"faster at {len(wins)} of {len(every)} sizes; slower at {listed(loses)}; "
        f"too close to call at {listed(close)}"
    )
    return Finding(decided, why, len(wins) / len(every))


def fused_turns(evidence: Evidence) -> Finding:
    """S0-b. triton_fused is the fastest of the five Triton versions below 65536, not from there.

    At each size: fused against the fastest other version that is timed; a fused that cannot run
    (unsupported, compile_error) is not the fastest. Holds when every size is on its side with an
    interval that excludes 1; does not hold when one size is surely on the other side; otherwise
    too close to call. Needs five sizes, among them one on each side of the turn.
    """
    sides = {n: side for n in SIZES if (side := _fused_side(evidence, n))}
    if len(sides) < LEAST or min(sides) >= TURN or max(sides) < TURN:
        evidence.speed_ratios("triton_fused", "triton_online", least=LEAST)
        raise NotMeasurableError(f"sizes on both sides of N = {TURN} are needed")
    wrong = [n for n, side in sides.items() if side == ("above" if n >= TURN else "below")]
    close = [n for n, side in sides.items() if side == "unclear"]
    agree = len(sides) - len(wrong) - len(close)
    decided = FAILS if wrong else UNDECIDED if close else HOLDS
    why = (
        f"as claimed at {agree} of {len(sides)} sizes; the other way at {listed(wrong)}; "
        f"too close to call at {listed(close)}"
    )
    return Finding(decided, why, agree / len(sides))


def _fused_side(evidence: Evidence, n: int) -> str:
    """Side of fused against the fastest other version at `n`; "" when that is not known."""
    others = [name for name in OTHERS if evidence.is_timed(name, n)]
    fused = evidence.rows.get(("triton_fused", n))
    if not others or fused is None:
        return ""
    if fused["status"] in ("unsupported", "compile_error"):
        return "below"
    if not evidence.is_timed("triton_fused", n):
        return ""
    against = [evidence.speed_ratio("triton_fused", name, n) for name in others]
    return min(against, key=lambda ratio: ratio.value).side()


CLAIMS = [
    Claim(
        "S0-a",
        "the online version is 26.1 % faster than torch",
        "reduction of time by triton_online at 1024x131072",
        ONLINE,
        online_faster,
        TABLE,
        stated=0.261,
    ),
    Claim(
        "S0-a",
        "and it is so stably",
        "share of sizes where triton_online is faster than torch",
        ONLINE,
        online_stable,
        TABLE,
    ),
    Claim(
        "S0-b",
        "fused is the best of the Triton versions for N < 65536 and bad beyond",
        "share of sizes where the ranking among the article's five Triton versions is as claimed",
        ONLINE,
        fused_turns,
        TABLE,
    ),
]
