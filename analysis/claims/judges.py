"""Judge the claims of claims.yaml: on which side of 1 ratios are, and how large their effect is.

Each judge finds the claim's quantity and its interval in the rows, and `reproduction` compares it
with what the source published. A claim about every size is judged by the sizes that were timed,
which the finding counts: a size is as claimed when its ratio is significant (Berger, Technometrics
24(4), 1982), and against the claim when it is significant on the other side, with p-values
corrected over sizes (Holm).
"""

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress

from analysis import markdown as md
from analysis import stats
from analysis.claims.claim import Evidence, Finding, NoDataError
from analysis.claims.reproduction import (
    FIFTH,
    NOT_REPRODUCED,
    OPEN,
    PARTLY,
    REPRODUCED,
    Outcome,
    compare_effects,
    compare_shares,
)
from analysis.stats import Estimate

ABOVE, BELOW, UNCLEAR = "above", "below", "unclear"


def faster_on_average(evidence: Evidence, fast: str, slow: str, stably: bool = False) -> Finding:
    """Judge by the geometric mean over the sizes; if `stably`, by every size as well."""
    ratios = evidence.speed_ratios(fast, slow)
    mean, sides = stats.geometric_mean(ratios.values()), sides_of(ratios)
    compared = _compare(evidence, mean)
    if stably and compared.verdict == REPRODUCED:
        compared = _on_every_size(sides, mean)
    values = [ratio.value for ratio in ratios.values()]
    timed, sizes = len(ratios), len(evidence.protocol.shapes)
    sizes_text = f"all {sizes} sizes"
    if timed < sizes:
        sizes_text = f"the {timed} of {sizes} sizes at which both kernels were timed"
    details = (
        f"geometric mean {text(mean)} over {sizes_text} (the interval covers these sizes, this "
        f"board and this day), from {min(values):.3f}x to {max(values):.3f}x"
    )
    for words, side in (("slower", BELOW), ("no significant difference", UNCLEAR)):
        sizes_of_side = sizes_on(side, sides)
        if not compared.why.endswith(f"at {sizes_of_side}"):  # else the sentence has named them
            details += clause(words, sizes_of_side)
    return Finding.on_ratio(compared, mean, details)


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

    A source prints 2.948 as 2.95, so half a unit of the last of `decimals` is its rounding.
    """
    ratio = evidence.speed_ratio(fast, slow, n)
    value, low, high, *interval = (
        1 - 1 / speed if reduction else speed
        for speed in (ratio.value, *ratio.bounds, *ratio.interval)
    )
    compared = compare_effects(
        *(value, low, high), stated, 0.0 if reduction else 1.0, 0.5 * 10**-decimals
    )
    return Finding(compared.verdict, f"{compared.why}; {text(ratio)} at N = {n}", value, *interval)


def stably_faster(evidence: Evidence, fast: str, slow: str) -> Finding:
    """Judge "stably": faster at every size."""
    return _share(evidence, sides_of(evidence.speed_ratios(fast, slow)), "faster", "slower")


def fused_best_below(evidence: Evidence, limit: int) -> Finding:
    """Judge: fused is faster than all others below `limit`, and slower than one from there.

    Where fused cannot run (unsupported, compile_error), it counts as slower.
    """
    sizes, minimum = evidence.protocol.shapes, evidence.protocol.minimum_sizes
    by_size = {n: ratios for n in sizes if (ratios := _over_others(evidence, n))}
    if len(by_size) < minimum or min(by_size) >= limit or max(by_size) < limit:
        raise NoDataError(
            f"triton_fused and another version are timed at {len(by_size)} sizes; {minimum} are "
            f"needed, on both sides of N = {limit} ({evidence.counts('triton_fused')})"
        )
    p = {n: p_values(ratios) for n, ratios in by_size.items()}
    claimed = {n: pair[::-1] if n >= limit else pair for n, pair in p.items()}
    return _share(evidence, _sides(claimed), "as claimed", "the other way")


def _share(evidence: Evidence, sides: dict[int, str], as_claimed: str, otherwise: str) -> Finding:
    """Return the share of the sizes that are above 1; the claim is about every size."""
    above, sizes = list(sides.values()).count(ABOVE), len(evidence.protocol.shapes)
    unclear = list(sides.values()).count(UNCLEAR)
    low, high = above / len(sides), (above + unclear) / len(sides)
    outcome = f"{as_claimed} at {above} of {md.counted(len(sides), 'size')}"
    compared = compare_shares(low, high, evidence.published_value, outcome)
    lacking = sizes - len(sides)
    why = (
        compared.why
        + clause(otherwise, sizes_on(BELOW, sides))
        + clause("too close to call", sizes_on(UNCLEAR, sides))
    )
    if lacking > 0:
        why += f"; {md.counted(lacking, 'size')} cannot be compared"
    return Finding(compared.verdict, why, low)


def _over_others(evidence: Evidence, n: int) -> list[Estimate]:
    """Return the speed of fused over each other version that is timed at `n`."""
    rivals = [name for name in evidence.protocol.variants if name != "triton_fused"]
    fused = evidence.rows.get(("triton_fused", n), {"status": ""})
    if fused["status"] in ("unsupported", "compile_error"):
        return [Estimate(-math.inf) for name in rivals if evidence.is_timed(name, n)]
    ratios = []
    for name in rivals:
        with suppress(NoDataError):
            ratios.append(evidence.speed_ratio("triton_fused", name, n))
    return ratios


def fused_limit(evidence: Evidence, stated: int) -> Finding:
    """Judge by the status beyond `stated`; out_of_memory depends on the GPU and decides nothing."""
    below = evidence.row("triton_fused", stated)
    beyond = evidence.row("triton_fused", 2 * stated)
    outcome = f"{beyond['status']} at N = {2 * stated}"
    outcome += f" ({beyond['message']})" if beyond["message"] else ""
    if beyond["status"] == "ok":
        return Finding(NOT_REPRODUCED, f"it ran at N = {2 * stated}", 2 * stated)
    if beyond["status"] in ("unsupported", "compile_error") and below["status"] == "ok":
        return Finding(REPRODUCED, f"ok at N = {stated}, {outcome}", stated)
    raise NoDataError(f"{below['status']} at N = {stated}, {outcome}")


def largest_difference(
    evidence: Evidence, variant: str, n: int, stated: float, decimals: int
) -> Finding:
    """Judge by bounds: for errors e and t against float64, |e - t| <= difference <= e + t.

    The difference may exceed `stated` by a fifth, or by half a unit of the last of its `decimals`.
    """
    rows = [evidence.row(name, n) for name in (variant, evidence.protocol.baseline)]
    e, t = (row["max_abs_error"] if row["status"] == "ok" else math.nan for row in rows)
    if not (math.isfinite(e) and math.isfinite(t)):
        raise NoDataError("an error against float64 is not in the rows")
    low, high = abs(e - t), e + t
    limit = stated + max(FIFTH * stated, 0.5 * 10**-decimals)
    decided = REPRODUCED if high < limit else NOT_REPRODUCED if low >= limit else OPEN
    why = (
        f"we recorded only bounds: between {low:.2e} and {high:.2e}; errors against float64 are "
        f"{e:.2e} (online) and {t:.2e} (torch)"
    )
    return Finding(decided, why, high, low, high)


def torch_ahead(evidence: Evidence, variant: str, n: int) -> Finding:
    """Judge torch over a variant at the smallest size of the protocol."""
    torch = evidence.protocol.baseline
    ratio = evidence.speed_ratio(torch, variant, n)
    sides = sides_of(evidence.speed_ratios(torch, variant, minimum=1))
    sizes_ahead = f" ({sizes})" if (sizes := sizes_on(ABOVE, sides)) else ""
    details = (
        f"torch is {text(ratio)} as fast at N = {n}; "
        f"ahead at {list(sides.values()).count(ABOVE)} of {len(sides)} sizes{sizes_ahead}"
    )
    return Finding.on_ratio(_compare(evidence, ratio), ratio, details)


def faster_at_every_size(evidence: Evidence, fast: str, slow: str) -> Finding:
    """Judge one variant over another at every size, each beside the published ratio."""
    ratios = {n: evidence.speed_ratio(fast, slow, n) for n in evidence.protocol.shapes}
    compared = _on_every_size(sides_of(ratios), stats.geometric_mean(ratios.values()))
    parts = []
    for n, ratio in ratios.items():
        source = evidence.published and evidence.published.speed_ratio(fast, slow, n)
        in_source = f" (published {text(source)})" if source else ""
        parts.append(f"{text(ratio)} at N = {n}{in_source}")
    smallest = min(ratios.values(), key=lambda ratio: ratio.log)
    if compared.verdict == REPRODUCED:
        compared = _compare(evidence, smallest)
    return Finding.on_ratio(compared, smallest, "; ".join(parts))


def _compare(evidence: Evidence, ratio: Estimate) -> Outcome:
    """Compare a ratio with that of the source's own table, by its effect."""
    published = evidence.published_value
    return compare_effects(ratio.value, *ratio.bounds, published, neutral=1.0)


def _on_every_size(sides: Mapping[int, str], mean: Estimate) -> Outcome:
    """Judge a claim about every size; with an exception, its mean may still be as claimed."""
    if BELOW in sides.values():
        if mean.bounds[0] <= 1:
            return Outcome(NOT_REPRODUCED, f"slower at {sizes_on(BELOW, sides)}")
        return Outcome(PARTLY, f"not at every size: slower at {sizes_on(BELOW, sides)}")
    if UNCLEAR in sides.values():
        return Outcome(OPEN, f"too close to call at {sizes_on(UNCLEAR, sides)}")
    return Outcome(REPRODUCED, "faster at every size")


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


def _sides(p_by_size: Mapping[int, tuple[float, float]]) -> dict[int, str]:
    """Return size -> its side of 1, from its `p_values`; those of `below` are corrected (Holm)."""
    below = stats.holm(p for _, p in p_by_size.values())
    return {
        n: ABOVE if p <= stats.ALPHA else BELOW if below_p <= stats.ALPHA else UNCLEAR
        for (n, (p, _)), below_p in zip(p_by_size.items(), below, strict=True)
    }


def sides_of(ratios: Mapping[int, Estimate]) -> dict[int, str]:
    """Return size -> the side of 1 of its ratio."""
    return _sides({n: p_values([ratio]) for n, ratio in ratios.items()})


def sizes_on(side: str, sides: Mapping[int, str]) -> str:
    """Return the sizes on this side of 1, for a sentence: `N = 256, 512`; "" for none."""
    numbers = ", ".join(str(n) for n, own_side in sides.items() if own_side == side)
    return f"N = {numbers}" if numbers else ""


def clause(words: str, sizes: str) -> str:
    """Return `; slower at N = 256` for the end of a sentence, or "" without sizes."""
    return f"; {words} at {sizes}" if sizes else ""
