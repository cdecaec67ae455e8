"""Decide on which side of 1 ratios are, and from that whether a claim holds.

The verdicts `holds` and `does not hold` need a whole interval, or a p-value, on one side of the
claim, so noise can only make a verdict `inconclusive`. A claim about every size is judged by the
sizes that were timed, which the finding counts. It holds when each of them is significant (Berger,
Technometrics 24(4), 1982). It fails when one size is significant on the other side, with p-values
corrected over sizes (Holm).
"""

from collections.abc import Iterable, Mapping

from analysis import markdown as md
from analysis import stats
from analysis.claims.claim import FAILS, HOLDS, INCONCLUSIVE
from analysis.stats import Estimate

ABOVE, BELOW, UNCLEAR = "above", "below", "unclear"


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


def sides(every: Mapping[int, tuple[float, float]]) -> dict[int, str]:
    """Return size -> its side of 1, from its `p_values`; those of `below` are corrected (Holm)."""
    below = stats.holm(p for _, p in every.values())
    return {
        n: ABOVE if p <= stats.LEVEL else BELOW if other <= stats.LEVEL else UNCLEAR
        for (n, (p, _)), other in zip(every.items(), below, strict=True)
    }


def sides_of(every: Mapping[int, Estimate]) -> dict[int, str]:
    """Return size -> the side of 1 of its ratio."""
    return sides({n: p_values([ratio]) for n, ratio in every.items()})


def on_all(sides: Iterable[str]) -> str:
    """Return the verdict on "every ratio is above 1", from the sides of the ratios."""
    sides = set(sides)
    return FAILS if BELOW in sides else INCONCLUSIVE if UNCLEAR in sides else HOLDS


def on_number(ratio: Estimate, least: float) -> str:
    """Return the verdict on "faster by `least`".

    It holds if the whole interval reaches `least`, and fails if no part of the interval does.
    """
    low, high = ratio.bounds
    return HOLDS if low >= least else FAILS if high < least else INCONCLUSIVE


def too_close(decided: str) -> str:
    """Return a clause that explains an inconclusive verdict; "" for the others."""
    return ", too close to call" if decided == INCONCLUSIVE else ""


def sizes_on(where: str, sides: Mapping[int, str]) -> str:
    """Return the sizes on the side `where` of 1, for a sentence: `N = 256, 512`, or `no N`."""
    text = ", ".join(str(n) for n, side in sides.items() if side == where)
    return f"N = {text}" if text else "no N"
