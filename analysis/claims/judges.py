"""Judge the claims of claims.yaml: on which side of 1 ratios are, and whether a claim holds.

The verdicts `holds` and `does not hold` need a whole interval, or a p-value, on one side of the
claim, so noise can only make a verdict `inconclusive`. A claim about every size is judged by the
sizes that were timed, which the finding counts. It holds when each of them is significant (Berger,
Technometrics 24(4), 1982). It fails when one size is significant on the other side, with p-values
corrected over sizes (Holm).
"""

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress

from analysis import markdown as md
from analysis import stats
from analysis.claims.claim import FAILS, HOLDS, INCONCLUSIVE, Evidence, Finding, NoDataError
from analysis.stats import Estimate

ABOVE, BELOW, UNCLEAR = "above", "below", "unclear"


def faster_on_average(evidence: Evidence, fast: str, slow: str, stably: bool = False) -> Finding:
    """Judge by the geometric mean over the sizes; if `stably`, by every size as well."""
    every = evidence.speed_ratios(fast, slow)
    mean, sides = stats.geometric_mean(every.values()), sides_of(every)
    judged = [side_of(mean), *(sides.values() if stably else [])]
    decided = on_all(judged)
    close = too_close(decided) if UNCLEAR in judged else ""
    values = [ratio.value for ratio in every.values()]
    why = (
        f"geometric mean {text(mean)} over {len(every)} of "
        f"{len(evidence.protocol.shapes)} sizes{close} (the interval is of these sizes, this "
        f"board and this day), from {min(values):.3f}x "
        f"to {max(values):.3f}x; slower at {sizes_on(BELOW, sides)}; "
        f"no significant difference at {sizes_on(UNCLEAR, sides)}"
    )
    return Finding.of(decided, mean, why)


def faster_by(
    evidence: Evidence,
    fast: str,
    slow: str,
    n: int,
    stated: float,
    decimals: int,
    reduction: bool = False,
) -> Finding:
    """Judge the speed at one size against `stated`; `reduction`: both are the share of time saved.

    A source prints 2.948 as 2.95, so half a unit of the last of `decimals` is allowed.
    """
    least = stated - 0.5 * 10**-decimals
    speed, least = (1 / (1 - x) if reduction else x for x in (stated, least))
    ratio = evidence.speed_ratio(fast, slow, n)
    low, high = ratio.bounds
    decided = HOLDS if low >= least else FAILS if high < least else INCONCLUSIVE
    why = f"{text(ratio)} at N = {n}{too_close(decided)}, the article says {speed:.{decimals}f}x"
    values = ratio.value, *ratio.interval
    return Finding(decided, why, *((1 - 1 / x for x in values) if reduction else values))


def stably_faster(evidence: Evidence, fast: str, slow: str) -> Finding:
    """Judge "stably": faster at every size."""
    return _share(evidence, sides_of(evidence.speed_ratios(fast, slow)), "faster", "slower")


def fused_best_below(evidence: Evidence, limit: int) -> Finding:
    """Judge: fused is faster than all others below `limit`, and slower than one from there.

    Where fused cannot run (unsupported, compile_error), it counts as slower.
    """
    sizes, least = evidence.protocol.shapes, evidence.protocol.least
    every = {n: ratios for n in sizes if (ratios := _over_others(evidence, n))}
    if len(every) < least or min(every) >= limit or max(every) < limit:
        raise NoDataError(
            f"triton_fused and another version are timed at {len(every)} sizes; {least} are "
            f"needed, on both sides of N = {limit} ({evidence.counts('triton_fused')})"
        )
    p = {n: p_values(ratios) for n, ratios in every.items()}
    claimed = {n: pair[::-1] if n >= limit else pair for n, pair in p.items()}
    return _share(evidence, _sides(claimed), "as claimed", "the other way")


def _share(evidence: Evidence, sides: dict[int, str], as_claimed: str, otherwise: str) -> Finding:
    """Return the share of the sizes that are above 1; the claim is about every size."""
    above, sizes = list(sides.values()).count(ABOVE), len(evidence.protocol.shapes)
    why = (
        f"{as_claimed} at {above} of {len(sides)} sizes (the protocol has {sizes}); "
        f"{otherwise} at {sizes_on(BELOW, sides)}; "
        f"too close to call at {sizes_on(UNCLEAR, sides)}"
    )
    lacking = sizes - len(sides)
    why += f"; {md.counted(lacking, 'size')} cannot be compared" * (lacking > 0)
    return Finding(on_all(sides.values()), why, above / len(sides))


def _over_others(evidence: Evidence, n: int) -> list[Estimate]:
    """Return the speed of fused over each other version that is timed at `n`."""
    others = [name for name in evidence.protocol.variants if name != "triton_fused"]
    fused = evidence.rows.get(("triton_fused", n), {"status": ""})
    if fused["status"] in ("unsupported", "compile_error"):
        return [Estimate(-math.inf) for name in others if evidence.is_timed(name, n)]
    every = []
    for name in others:
        with suppress(NoDataError):
            every.append(evidence.speed_ratio("triton_fused", name, n))
    return every


def fused_limit(evidence: Evidence, stated: int) -> Finding:
    """Judge by the status beyond `stated`; out_of_memory depends on the GPU and decides nothing."""
    below = evidence.row("triton_fused", stated)
    beyond = evidence.row("triton_fused", 2 * stated)
    outcome = f"{beyond['status']} at N = {2 * stated}"
    outcome += f" ({beyond['message']})" if beyond["message"] else ""
    if beyond["status"] == "ok":
        return Finding(FAILS, f"it ran: {outcome}", 2 * stated)
    if beyond["status"] in ("unsupported", "compile_error") and below["status"] == "ok":
        return Finding(HOLDS, f"ok at N = {stated}, {outcome}", stated)
    raise NoDataError(f"{below['status']} at N = {stated}, {outcome}")


def largest_difference(
    evidence: Evidence, variant: str, n: int, stated: float, decimals: int
) -> Finding:
    """Judge by bounds: for errors e and t against float64, |e - t| <= difference <= e + t.

    Half a unit of the last of `decimals` of `stated` is allowed.
    """
    rows = [evidence.row(name, n) for name in (variant, evidence.protocol.baseline)]
    e, t = (row["max_abs_error"] if row["status"] == "ok" else math.nan for row in rows)
    if not (math.isfinite(e) and math.isfinite(t)):
        raise NoDataError("an error against float64 is not in the rows")
    low, high, limit = abs(e - t), e + t, stated + 0.5 * 10**-decimals
    decided = HOLDS if high < limit else FAILS if low >= limit else INCONCLUSIVE
    why = (
        f"not the difference itself but its bounds: errors against float64 are {e:.2e} (online) "
        f"and {t:.2e} (torch), so the difference is between {low:.2e} and {high:.2e}"
    )
    return Finding(decided, why, high, low, high)


def torch_ahead(evidence: Evidence, of: str, n: int) -> Finding:
    """Judge torch over a variant at the smallest size of the protocol."""
    torch = evidence.protocol.baseline
    ratio = evidence.speed_ratio(torch, of, n)
    sides = sides_of(evidence.speed_ratios(torch, of, least=1))
    decided = on_all([side_of(ratio)])
    why = (
        f"torch is {text(ratio)} as fast at N = {n}{too_close(decided)}; "
        f"ahead at {sizes_on(ABOVE, sides)} of {len(sides)} sizes"
    )
    return Finding.of(decided, ratio, why)


def faster_at_every_size(evidence: Evidence, fast: str, slow: str) -> Finding:
    """Judge one variant over another at every size, each beside the published ratio."""
    every = {n: evidence.speed_ratio(fast, slow, n) for n in evidence.protocol.shapes}
    decided = on_all(sides_of(every).values())
    parts = []
    for n, ratio in every.items():
        source = evidence.published and evidence.published.speed_ratio(fast, slow, n)
        beside = f" (published {text(source)})" if source else ""
        parts.append(f"{text(ratio)} at N = {n}{beside}")
    smallest = min(every.values(), key=lambda ratio: ratio.log)
    return Finding.of(decided, smallest, "; ".join(parts) + too_close(decided))


def text(ratio: Estimate) -> str:
    """Return `1.353x [1.350, 1.356]`, the interval only where there is one."""
    number, *interval = md.with_interval(ratio.value, *ratio.interval).split(" ", 1)
    return " ".join([f"{number}x", *interval])


def p_values(ratios: Iterable[Estimate]) -> tuple[float, float]:
    """Return the p-values of "all ratios are above 1" and of "one ratio is below 1".

    The first is the largest p, the second the smallest p times the number of ratios.
    """
    ratios = list(ratios)
    above = [ratio.p_beyond() if ratio.log > 0 else 1.0 for ratio in ratios]
    below = [ratio.p_beyond() if ratio.log < 0 else 1.0 for ratio in ratios]
    return max(above), min(1.0, len(below) * min(below))


def _sides(every: Mapping[int, tuple[float, float]]) -> dict[int, str]:
    """Return size -> its side of 1, from its `p_values`; those of `below` are corrected (Holm)."""
    below = stats.holm(p for _, p in every.values())
    return {
        n: ABOVE if p <= stats.LEVEL else BELOW if other <= stats.LEVEL else UNCLEAR
        for (n, (p, _)), other in zip(every.items(), below, strict=True)
    }


def sides_of(every: Mapping[int, Estimate]) -> dict[int, str]:
    """Return size -> the side of 1 of its ratio."""
    return _sides({n: p_values([ratio]) for n, ratio in every.items()})


def side_of(ratio: Estimate) -> str:
    """Return the side of 1 of a single ratio."""
    return sides_of({0: ratio})[0]


def on_all(sides: Iterable[str]) -> str:
    """Return the verdict on "every ratio is above 1", from the sides of the ratios."""
    sides = set(sides)
    return FAILS if BELOW in sides else INCONCLUSIVE if UNCLEAR in sides else HOLDS


def too_close(decided: str) -> str:
    """Return a clause that explains an inconclusive verdict; "" for the others."""
    return ", too close to call" if decided == INCONCLUSIVE else ""


def sizes_on(where: str, sides: Mapping[int, str]) -> str:
    """Return the sizes on the side `where` of 1, for a sentence: `N = 256, 512`, or `no N`."""
    named = ", ".join(str(n) for n, side in sides.items() if side == where)
    return f"N = {named}" if named else "no N"
