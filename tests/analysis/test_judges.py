"""Each side of each verdict, from speeds whose p-values are known: just enough, and just not."""

import math
from types import SimpleNamespace

import pytest

from analysis.claims import judges
from analysis.claims.claim import NoDataError
from analysis.claims.reproduction import VERDICTS, compare_effects, compare_shares
from analysis.stats import Estimate

SAME, PARTLY, FAILS, OPEN, _ = VERDICTS
SE = 1e-3
# Standard errors from 1: significant, not quite, and significant alone but not as one of two.
SURE, UNSURE, ALONE = 1.97, 1.95, 2.1


def speed(errors, ratio=1.0):
    """A speed that is so many standard errors from `ratio`."""
    return Estimate(math.log(ratio) + errors * SE, SE**2)


class Evidence:
    """Speeds by size, for every pair of variants, and rows by (variant, size)."""

    published, published_value = None, math.nan

    def __init__(self, speeds, rows=None, variants=("triton_fused", "a"), minimum=1):
        self.speeds, self.rows = speeds, rows or {}
        self.protocol = SimpleNamespace(
            shapes=dict.fromkeys(speeds, 1024),
            variants=variants,
            minimum_sizes=minimum,
            baseline="torch_softmax",
        )

    def speed_ratios(self, fast, slow, minimum=0):
        return self.speeds

    def speed_ratio(self, fast, slow, n):
        value = self.speeds[n]
        if isinstance(value, dict):
            value = value.get(slow)
        if value is None:
            raise NoDataError
        return value

    def is_timed(self, variant, n):
        return True

    def row(self, variant, n):
        return self.rows[variant, n]

    def counts(self, variant):
        return "no rows"


def test_p_values_are_of_all_above_and_of_one_below():
    """At 3, 1 and 2 standard errors a normal two-sided p is 0.0027, 0.3173 and 0.0455."""
    for errors, expected in {
        (3, 1): (0.3173, 1.0),
        (3, 2): (0.0455, 1.0),
        (-3, 1): (1.0, 0.0054),
        (-3, -1): (1.0, 0.0054),
        (-1, -1): (1.0, 0.6346),
        (-1, -1, -1, -1): (1.0, 1.0),
        (0,): (1.0, 1.0),
    }.items():
        assert judges.p_values(map(speed, errors)) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("errors", "sides"),
    [
        ((SURE, UNSURE, 0), ["above", "unclear", "unclear"]),
        ((-SURE,), ["below"]),
        ((-UNSURE,), ["unclear"]),
        ((-ALONE, -ALONE), ["unclear", "unclear"]),  # each of two sizes needs half of the level
        ((-ALONE, -3), ["below", "below"]),  # the largest p of two is not corrected
        ((SURE, -ALONE), ["above", "unclear"]),
    ],
)
def test_sides_need_significance_and_those_below_are_corrected(errors, sides):
    finding = judges.sides_of(dict(enumerate(map(speed, errors))))
    assert list(finding.values()) == sides


def test_sizes_of_a_side_are_named():
    named = judges.sizes_on("below", {8: "below", 16: "above", 32: "below"})
    assert (named, judges.sizes_on("unclear", {8: "below"})) == ("N = 8, 32", "")


@pytest.mark.parametrize(
    ("low", "high", "published", "verdict"),
    [
        (1.4, 1.6, 1.5, SAME),  # a fifth of 0.5 on each side
        (1.39, 1.39, 1.5, PARTLY),
        (1.61, 1.61, 1.5, PARTLY),
        (1.39, 1.41, 1.5, OPEN),
        (1.3, 1.7, 1.5, OPEN),  # each end alone is partly
        (1.001, 1.001, 1.5, PARTLY),
        (0.99, 0.99, 1.5, FAILS),
        (0.99, 1.01, 1.5, OPEN),
        (1.01, 1.02, math.nan, SAME),  # the direction alone
        (0.98, 0.99, math.nan, FAILS),
        (0.99, 1.01, math.nan, OPEN),
        (0.92, 0.92, 0.9, SAME),  # a published slowdown
        (1.1, 1.1, 0.9, FAILS),
    ],
)
def test_an_effect_is_reproduced_within_a_fifth_and_only_by_the_whole_interval(
    low, high, published, verdict
):
    finding = compare_effects((low + high) / 2, low, high, published, neutral=1.0)
    assert finding.verdict == verdict


def test_the_rounding_of_a_printed_number_is_allowed():
    printed = {"published": 1.01, "neutral": 1.0}  # the effect of 0.01 was rounded to a whole unit
    assert compare_effects(1.014, 1.014, 1.014, **printed).verdict == PARTLY
    assert compare_effects(1.014, 1.014, 1.014, **printed, rounding=0.005).verdict == SAME


@pytest.mark.parametrize(
    ("low", "high", "published", "verdict"),
    [
        (1.0, 1.0, math.nan, SAME),  # every size is claimed
        (0.9, 1.0, math.nan, OPEN),
        (0.9, 0.9, math.nan, PARTLY),
        (0.9, 0.9, 1.0, PARTLY),
        (0.5, 0.5, math.nan, PARTLY),
        (0.4, 0.4, math.nan, FAILS),
        (0.4, 0.4, 0.5, SAME),  # the source's own table has exceptions
        (0.39, 0.39, 0.5, FAILS),
        (1.0, 1.0, 0.5, SAME),  # more than the source's table has
    ],
)
def test_a_share_is_compared_with_that_of_the_sources_own_table(low, high, published, verdict):
    assert compare_shares(low, high, published).verdict == verdict


@pytest.mark.parametrize(
    ("errors", "stably", "verdict"),
    [
        ((9, -5), False, SAME),
        ((9, -5), True, PARTLY),
        ((9, UNSURE), True, OPEN),
        ((9, SURE), True, SAME),
        ((UNSURE, -UNSURE), False, OPEN),
        ((-9, 5), False, FAILS),
    ],
)
def test_a_mean_decides_and_if_stably_every_size_too(errors, stably, verdict):
    evidence = Evidence(dict(enumerate(map(speed, errors))))
    finding = judges.faster_on_average(evidence, "a", "b", **({"stably": True} if stably else {}))
    assert finding.verdict == verdict
    assert finding.value == pytest.approx(math.exp(sum(errors) / len(errors) * SE))
    assert finding.low < finding.value < finding.high
    ends = (f"{math.exp(end(errors) * SE):.3f}x" for end in (min, max))
    assert "from {} to {}".format(*ends) in finding.why


@pytest.mark.parametrize(
    ("errors", "verdict"), [(SURE, SAME), (UNSURE, OPEN), (-UNSURE, OPEN), (-SURE, PARTLY)]
)
def test_a_stated_speed_is_reached_but_for_a_fifth_of_its_effect(errors, verdict):
    evidence = Evidence({8: speed(errors, 2.56)})
    assert judges.faster_by(evidence, "a", "b", 8, 2.95, 2).verdict == verdict
    reduction = Evidence({8: speed(errors, 1 / (1 - 0.2088))})
    finding = judges.faster_by(reduction, "a", "b", 8, 0.261, 3, reduction=True)
    assert (finding.verdict, finding.value) == (verdict, pytest.approx(0.2088, abs=2e-3))
    assert finding.low < finding.value < finding.high
    assert "published 26.1 %" in finding.why
    assert ("more than one verdict" in finding.why) == (verdict == OPEN)


@pytest.mark.parametrize(
    ("errors", "verdict", "value"),
    [
        ((SURE, SURE), SAME, 1),
        ((SURE, UNSURE), OPEN, 0.5),
        ((SURE, -3), PARTLY, 0.5),
        ((UNSURE, UNSURE), OPEN, 0),
    ],
)
def test_stably_means_at_every_size(errors, verdict, value):
    evidence = Evidence(dict(enumerate(map(speed, errors))))
    finding = judges.stably_faster(evidence, "a", "b")
    assert (finding.verdict, finding.value) == (verdict, value)
    assert "cannot be compared" not in finding.why
    evidence.protocol.shapes[99] = 1024
    assert "1 size cannot be compared" in judges.stably_faster(evidence, "a", "b").why


@pytest.mark.parametrize(
    ("below", "beyond", "verdict"),
    [
        ((3, 3), (3, -3), SAME),  # the fastest below the limit, slower than one beyond
        ((3, 1), (3, -3), OPEN),  # not clearly faster than the second
        ((3, -3), (3, -3), PARTLY),
        ((3, 3), (3, 3), PARTLY),
        ((3, 3), (3, -1), OPEN),
    ],
)
def test_fused_is_the_fastest_below_a_size_and_not_from_there_on(below, beyond, verdict):
    def others(errors):
        return dict(zip("ab", map(speed, errors), strict=True))

    speeds, names = {64: others(below), 128: others(beyond)}, ("triton_fused", *"ab")
    evidence = Evidence(speeds, variants=names, minimum=2)
    finding = judges.fused_best_below(evidence, 128)
    assert (finding.verdict, finding.value) == (verdict, {SAME: 1.0}.get(verdict, 0.5))
    for limit in (64, 129):  # all sizes on one side
        with pytest.raises(NoDataError, match="on both sides"):
            judges.fused_best_below(evidence, limit)
    evidence.protocol.minimum_sizes = 3
    with pytest.raises(NoDataError, match="timed at 2 sizes; 3 are needed"):
        judges.fused_best_below(evidence, 128)


@pytest.mark.parametrize("status", ["unsupported", "compile_error"])
def test_fused_counts_as_slower_where_it_cannot_run(status):
    evidence = Evidence({64: speed(3), 128: None}, {("triton_fused", 128): {"status": status}})
    assert judges.fused_best_below(evidence, 128).verdict == SAME
    evidence.rows["triton_fused", 128]["status"] = "crash"
    with pytest.raises(NoDataError):
        judges.fused_best_below(evidence, 128)


@pytest.mark.parametrize(
    ("below", "beyond", "expected"),
    [
        ("ok", "ok", (FAILS, 16)),
        ("ok", "unsupported", (SAME, 8)),
        ("ok", "compile_error", (SAME, 8)),
        ("crash", "unsupported", None),
        ("ok", "out_of_memory", None),
    ],
)
def test_a_limit_holds_where_fused_runs_up_to_it_and_cannot_beyond(below, beyond, expected):
    row = {"message": ""}
    rows = {("triton_fused", n): row | {"status": s} for n, s in ((8, below), (16, beyond))}
    if expected is None:
        with pytest.raises(NoDataError, match=f"{below} at N = 8, {beyond} at N = 16"):
            judges.fused_limit(Evidence({}, rows), 8)
    else:
        finding = judges.fused_limit(Evidence({}, rows), 8)
        assert (finding.verdict, finding.value) == expected


@pytest.mark.parametrize(
    ("online", "torch", "verdict"),
    [
        (1.0, 0.79, SAME),
        (1.0, 0.81, OPEN),
        (0.81, 1.0, OPEN),
        (2.0, 0.21, OPEN),
        (2.0, 0.19, FAILS),
        (0.19, 2.0, FAILS),
        (1.0, math.nan, None),
        (math.inf, 1.0, None),
    ],
)
def test_a_difference_is_judged_by_both_of_its_bounds(online, torch, verdict):
    """1.5 is stated, so less than 1.8, a fifth more, is as stated."""
    rows = {
        (name, 8): {"status": "ok", "max_abs_error": error}
        for name, error in (("triton_online", online), ("torch_softmax", torch))
    }
    evidence, arguments = Evidence({}, rows), ("triton_online", 8, 1.5, 1)
    if verdict is None:
        with pytest.raises(NoDataError):
            judges.largest_difference(evidence, *arguments)
        return
    finding = judges.largest_difference(evidence, *arguments)
    assert finding.verdict == verdict
    assert (finding.low, finding.high) == pytest.approx((abs(online - torch), online + torch))
    assert finding.value == finding.high
    rows["torch_softmax", 8]["status"] = "crash"
    with pytest.raises(NoDataError):
        judges.largest_difference(evidence, *arguments)


@pytest.mark.parametrize(("errors", "verdict"), [(SURE, SAME), (UNSURE, OPEN), (-SURE, FAILS)])
def test_torch_ahead_is_judged_at_one_size(errors, verdict):
    finding = judges.torch_ahead(Evidence({8: speed(errors), 16: speed(9)}), "a", 8)
    assert (finding.verdict, finding.value) == (verdict, pytest.approx(math.exp(errors * SE)))


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [((SURE, 9), SAME), ((9, UNSURE), OPEN), ((9, -3), PARTLY), ((1, -9), FAILS)],
)
def test_faster_at_every_size_reports_the_smallest_ratio(errors, verdict):
    evidence = Evidence(dict(enumerate(map(speed, errors))))
    finding = judges.faster_at_every_size(evidence, "a", "b")
    assert (finding.verdict, finding.value) == (verdict, pytest.approx(math.exp(min(errors) * SE)))
