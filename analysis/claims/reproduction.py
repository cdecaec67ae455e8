"""Compare a measured quantity with a published one: the words of a verdict, and their rules.

The *effect* of a ratio is its distance from 1. A measured effect is as published if it differs by
at most a fifth of the published effect, or by no more than the published number was rounded. Of a
claim about every size, the share of sizes that are as claimed is compared: it may be a fifth below
the share in the source's own table, but a table without an exception allows none. Boards, drivers
and versions of torch differ between an article and us; an effect of the same direction and size is
a reproduction nevertheless.

A verdict needs the whole interval: where its ends would get two verdicts, the claim is open.
"""

import math
from typing import NamedTuple

from analysis.markdown import percent

REPRODUCED, PARTLY, NOT_REPRODUCED = "reproduced", "partly", "not reproduced"
OPEN, NO_DATA = "open", "no data"
# The best agreement comes first.
VERDICTS = (REPRODUCED, PARTLY, NOT_REPRODUCED, OPEN, NO_DATA)
FIFTH = 0.2  # Part of the published effect by which a reproduced one may differ.
HALF = 0.5  # share of the sizes that a claim about every size needs for its direction
SLACK = 1e-9  # relative, for values that are computed on the border


class Comparison(NamedTuple):
    """A verdict, and one sentence that says why."""

    verdict: str
    why: str


def compare_effects(
    value: float, low: float, high: float, published: float, neutral: float, rounding: float = 0.0
) -> Comparison:
    """Compare a measured quantity, between `low` and `high`, with the published one.

    `neutral`: the value without an effect, 1 for a ratio and 0 for a share of time saved.
    `published`: NaN if the source says the direction alone, which is that of a larger value.
    `rounding`: how far the printed number may be from the exact one.
    """
    ends = {_verdict(end, published, neutral, rounding) for end in (low, high)}
    if math.isnan(published):
        (verdict,) = ends if len(ends) == 1 else (OPEN,)
        return Comparison(verdict, _direction(verdict))
    words = f"measured {_effect(value, neutral)}, published {_effect(published, neutral)}"
    if len(ends) > 1 or _is_across(low, high, published, neutral, rounding):
        return Comparison(OPEN, f"the interval spans more than one verdict: {words}")
    (verdict,) = ends
    sizes = {REPRODUCED: "same direction and size", PARTLY: "same direction, different size"}
    return Comparison(verdict, f"{sizes.get(verdict, 'the other direction')}: {words}")


def compare_shares(low: float, high: float, published: float) -> Comparison:
    """Compare the share of sizes that are as claimed, between `low` and `high`.

    `high` counts the sizes that are too close to call. `published`: the share in the source's own
    table; NaN if it has none, and every size is claimed.
    """
    is_claimed = math.isnan(published)
    published = 1.0 if is_claimed else published
    words = f"as claimed at {percent(low)} of the sizes"
    if high > low:
        words += f", too close to call at {percent(high - low)}"
    if not is_claimed:
        words += f"; in the source's own table at {percent(published)}"
    ends = {_share_verdict(share, published) for share in (low, high)}
    (verdict,) = ends if len(ends) == 1 else (OPEN,)
    return Comparison(verdict, words)


def _verdict(value: float, published: float, neutral: float, rounding: float) -> str:
    if math.isnan(published):
        return REPRODUCED if value > neutral else NOT_REPRODUCED
    effect = published - neutral
    allowed = max(FIFTH * abs(effect), rounding) * (1 + SLACK)
    if abs(value - published) <= allowed:
        return REPRODUCED
    return PARTLY if (value - neutral) * effect > 0 else NOT_REPRODUCED


def _is_across(low: float, high: float, published: float, neutral: float, rounding: float) -> bool:
    """Return whether an interval goes from too small an effect to too large a one."""
    return low < published < high and _verdict(low, published, neutral, rounding) == PARTLY


def _share_verdict(share: float, published: float) -> str:
    """Return the verdict on a share; a source without an exception allows none."""
    lowest = published if published == 1 else published * (1 - FIFTH)
    if share >= lowest * (1 - SLACK):
        return REPRODUCED
    return PARTLY if share >= HALF else NOT_REPRODUCED


def _effect(value: float, neutral: float) -> str:
    return f"{100 * (value - neutral):+.3g} %" if neutral else percent(value, 1)


def _direction(verdict: str) -> str:
    return {
        REPRODUCED: "the direction is as claimed; the source gives no number",
        NOT_REPRODUCED: "the other direction",
    }.get(verdict, "too close to call")
