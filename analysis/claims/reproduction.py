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


class Outcome(NamedTuple):
    """A verdict, and one sentence that says why."""

    verdict: str
    why: str


def compare_effects(
    value: float, low: float, high: float, published: float, neutral: float, rounding: float = 0.0
) -> Outcome:
    """Compare a measured quantity, between `low` and `high`, with the published one.

    `neutral`: the value without an effect, 1 for a ratio and 0 for a share of time saved.
    `published`: NaN if the source says the direction alone, which is that of a larger value.
    `rounding`: how far the printed number may be from the exact one.
    """
    if math.isnan(published):
        if low > neutral:
            return Outcome(REPRODUCED, "the direction is as claimed; the source gives no number")
        if high > neutral:
            return Outcome(OPEN, "too close to call")
        return Outcome(NOT_REPRODUCED, "the other direction")
    effect = published - neutral
    allowed = max(FIFTH * abs(effect), rounding) * (1 + SLACK)

    def verdict_on(end: float) -> str:
        if abs(end - published) <= allowed:
            return REPRODUCED
        return PARTLY if (end - neutral) * effect > 0 else NOT_REPRODUCED

    measured, stated = (
        f"{100 * (number - neutral):+.3g} %" if neutral else percent(number, 1)
        for number in (value, published)
    )
    words = f"measured {measured}, published {stated}"
    verdict = verdict_on(low)
    # an interval may go from too small an effect to too large a one
    is_across = verdict == PARTLY and low < published < high
    if is_across or verdict != verdict_on(high):
        return Outcome(OPEN, f"the interval crosses the limit between two verdicts: {words}")
    sizes = {REPRODUCED: "same direction and size", PARTLY: "same direction, different size"}
    return Outcome(verdict, f"{sizes.get(verdict, 'the other direction')}: {words}")


def compare_shares(low: float, high: float, published: float, as_claimed: str) -> Outcome:
    """Compare the share of sizes that are as claimed, between `low` and `high`, as `as_claimed`.

    `high` counts the sizes that are too close to call. `published`: the share in the source's own
    table, of which one without an exception allows none; NaN if it has none, and every size is
    claimed.
    """
    exceptions = (
        "" if low == 1 else "perhaps at every size: " if high == 1 else "not at every size: "
    )
    words = f"{exceptions}{as_claimed}"
    if not math.isnan(published):
        words += f" here, at {percent(published)} of those in the article's own table"
    has_exceptions = published < 1  # false for NaN
    required = (published * (1 - FIFTH) if has_exceptions else 1.0) * (1 - SLACK)
    first, last = (
        REPRODUCED if share >= required else PARTLY if share >= HALF else NOT_REPRODUCED
        for share in (low, high)
    )
    return Outcome(first if first == last else OPEN, words)
