"""Claims S0-c, S0-d and S0-e: limit of the fused kernel, the cache trick, and the difference."""

import math

from analysis import ratios
from analysis.claims.evidence import Evidence, NotMeasurableError, interval, listed, sizes_on
from analysis.claims.protocol import ONLINE
from analysis.claims.registry import FAILS, HOLDS, UNDECIDED, Claim, Finding, verdict
from analysis.claims.s0_speed import LARGEST, LEAST, TABLE
from analysis.ratios import BASELINE


def fused_limit(evidence: Evidence) -> Finding:
    """S0-c. triton_fused cannot start at N = 262144, while it runs at 131072.

    Holds when the row at 262144 is unsupported or compile_error and the one at 131072 is ok; does
    not hold when 262144 ran (ok). Anything else, such as out_of_memory (the device's memory, not
    the launch) or a limit that is reached earlier, decides nothing.
    """
    below = evidence.row("triton_fused", LARGEST)
    beyond = evidence.row("triton_fused", 2 * LARGEST)
    said = f"{beyond['status']} at N = {2 * LARGEST}"
    said += f" ({beyond['message']})" if beyond["message"] else ""
    if beyond["status"] == "ok":
        return Finding(FAILS, f"it ran: {said}", 2 * LARGEST)
    if beyond["status"] in ("unsupported", "compile_error") and below["status"] == "ok":
        return Finding(HOLDS, f"ok at N = {LARGEST}, {said}", LARGEST)
    raise NotMeasurableError(f"{below['status']} at N = {LARGEST}, {said}")


def cache_trick(cached: str):
    """S0-d, for one kernel: time without the cache trick over time with it.

    Geometric mean over the sizes. Holds when its interval lies above 1, does not hold when below;
    the sentence lists the sizes where the trick surely costs time. Needs five sizes.
    """

    def judge(evidence: Evidence) -> Finding:
        every = evidence.speed_ratios(cached, f"{cached}_nocache", LEAST)
        mean = ratios.geometric_mean(every.values())
        hurts = sizes_on("below", every)
        unsure = sizes_on("unclear", every)
        close = ", too close to call" if mean.side() == "unclear" else ""
        why = (
            f"geometric mean {interval(mean)} over {len(every)} sizes{close}; slower with the "
            f"trick at {listed(hurts)}; no sure difference at {listed(unsure)}"
        )
        return Finding.of(verdict(mean.side()), mean, why)

    return judge


def difference(evidence: Evidence) -> Finding:
    """S0-e. Maximum |online - torch| at 1024x32768, bounded by the two errors against float64.

    The rows hold each one's largest error against float64, e and t, not their difference. That
    lies between |e - t| and e + t. Holds when e + t is at most 1.5e-11 to two digits (below
    1.55e-11); does not hold when |e - t| is not; otherwise the rows cannot tell.
    """
    rows = [evidence.timed_row(name, 32768) for name in ("triton_online", BASELINE)]
    e, t = (row["max_abs_error"] for row in rows)
    if not (math.isfinite(e) and math.isfinite(t)):
        raise NotMeasurableError("an error against float64 is not in the rows")
    low, high = abs(e - t), e + t
    limit = 1.55e-11
    decided = HOLDS if high < limit else FAILS if low >= limit else UNDECIDED
    why = (
        f"not the difference itself but its bounds: errors against float64 are {e:.2e} (online) "
        f"and {t:.2e} (torch), so the difference is between {low:.2e} and {high:.2e}"
    )
    return Finding(decided, why, high, low, high)


CLAIMS = [
    Claim(
        "S0-c",
        "fused cannot start past N = 131072",
        "largest N at which triton_fused is known to run",
        ONLINE,
        fused_limit,
        untabled="stated in the text only, the table ends at N = 131072",
        stated=LARGEST,
    ),
    *(
        Claim(
            "S0-d",
            "walking backwards over the row (cache trick) helps",
            f"time without / with the trick, {name}, geometric mean over N",
            ONLINE,
            cache_trick(name),
            TABLE,
        )
        for name in ("triton_tiled", "triton_online")
    ),
    Claim(
        "S0-e",
        "the maximum difference from torch is about 1.5e-11 at 1024x32768 uniform",
        "upper bound of the largest |triton_online - torch_softmax| at 1024x32768",
        ONLINE,
        difference,
        untabled="stated in the text only, the table has times",
        stated=1.5e-11,
    ),
]
