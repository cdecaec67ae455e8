"""Two runs of the same code hardly ever differ, and a planted change is found."""

import math

import numpy as np
import pandas as pd
import pytest

from analysis.compare import estimate, runs, verdict
from tests.analysis import compared
from tests.marks import slow

EVERY_M = (512, 1024, 4096)
# M and seeds of two runs whose false alarms are counted: a third of the points, and twice all.
ALARMS = [((1024,), (1, 2)), slow(EVERY_M, (1, 2)), slow(EVERY_M, (3, 4))]
LIMITS = verdict.Limits(margin=0.01, threshold=0.02, rate=0.05)


def judged(folder, lines, slower=None, seeds=(1, 2), fixed_us=0.0):
    old = compared.write_table(folder / "old.csv", lines, seeds[0], None, fixed_us)
    new = compared.write_table(folder / "new.csv", lines, seeds[1], slower, fixed_us)
    return verdict.judge(runs.match(runs.load(old), runs.load(new), allow=False), LIMITS)


def differs(found):
    return found["verdict"].isin([verdict.FASTER, verdict.SLOWER])


@pytest.fixture(scope="module")
def many():
    """210 points, more than in the recorded sweeps."""
    return compared.rows(m=EVERY_M)


@pytest.mark.parametrize(("m", "seeds"), ALARMS)
def test_two_runs_of_the_same_code_do_not_differ(tmp_path, m, seeds):
    found = judged(tmp_path, compared.rows(m=m), seeds=seeds)
    assert len(found) == 70 * len(m)
    assert differs(found).mean() <= 0.01
    assert not verdict.failed(found, LIMITS).any()
    assert (found["verdict"] == verdict.SAME).mean() > 0.8


def beside_a_slow_torch(m):
    """The same with a torch that takes twice as long as the copy, as for most rows of an H200."""
    return [row | {"torch_us": str(2 * float(row["copy_us"]))} for row in compared.rows(m=m)]


@pytest.mark.parametrize(("m", "seeds"), ALARMS)
def test_a_fixed_time_per_call_in_some_processes_is_no_difference(tmp_path, m, seeds):
    found = judged(tmp_path, beside_a_slow_torch(m), seeds=seeds, fixed_us=0.35)
    assert differs(found).mean() <= 0.01
    assert not verdict.failed(found, LIMITS).any()
    taken_off = found["note"].str.endswith("µs, taken off")
    assert taken_off.mean() > 0.1
    assert found["ratio"][taken_off].between(0.98, 1.02).all()


def test_a_slowdown_of_3_percent_is_found_and_the_rest_is_not(tmp_path, many):
    planted = {compared.point(row): 1.03 for row in many[::14]}
    found = judged(tmp_path, many, planted)
    hit = found.index.isin(list(planted))
    assert hit.sum() == 15
    # A point where torch itself was off by 2 % in one of the two runs stays unclear.
    assert (found["verdict"][hit] == verdict.SLOWER).sum() >= 14
    assert set(found["verdict"][hit]) <= {verdict.SLOWER, verdict.UNCLEAR}
    assert differs(found)[~hit].mean() <= 0.01
    assert (found["verdict"].iloc[:14] == verdict.SLOWER).all(), "the worst come first"
    assert verdict.failed(found, LIMITS)[hit].sum() >= 14


def test_the_tail_of_students_t():
    # Tables of Student's t at 8 degrees of freedom: 5 %, 1 % and 0.1 % outside.
    assert verdict._outside([0, 2.306, 3.355, 5.041]) == pytest.approx(
        [1, 0.05, 0.01, 0.001], rel=2e-3
    )
    assert verdict._outside([verdict.T95]) == pytest.approx([0.05], rel=1e-3)


def test_nothing_is_beyond_a_margin_that_it_lies_within():
    p = verdict.p_beyond(np.array([0.0, 0.005, 0.01, 0.02]), np.full(4, 0.001), 0.01)
    assert p[0] > 0.999
    assert p[2] == pytest.approx(0.5, abs=1e-3)
    assert p[3] < 1e-5
    assert (np.diff(p) < 0).all()


def test_false_discoveries_as_in_benjamini_and_hochbergs_paper():
    # Their example of 15 comparisons (1995, section 4.1): at 5 % the first four count.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    assert verdict.discoveries(p[::-1], 0.05)[::-1].tolist() == [True] * 4 + [False] * 11
    assert verdict.discoveries([], 0.05).tolist() == []


def test_what_lies_between_processes_is_typical_but_never_less_than_the_minimum():
    long_us = [100.0] * 20
    assert set(estimate.between([0.0] * 20, long_us)) == {estimate.MINIMUM}
    wide = estimate.between([0.004, -0.004] * 10, long_us)
    assert wide == pytest.approx(1.4826 * 0.004)
    one_off = estimate.between([0.0] * 19 + [-0.02], long_us)
    assert one_off.max() == pytest.approx(0.02)
    assert (one_off[:19] == estimate.MINIMUM).all()


def test_too_few_controls_give_a_cautious_floor():
    assert estimate.between([0.0] * 3, [100.0] * 3) == pytest.approx(estimate.UNKNOWN)
    assert estimate.between([math.nan] * 30, [100.0] * 30) == pytest.approx(estimate.UNKNOWN)


def moved(**factors):
    """The control of a paired ratio when some series took `factors` times as long."""
    old = pd.DataFrame({"variant": 20.0, "torch": 30.0, "copy": 10.0}, index=range(5))
    return estimate.change(old, old.assign(**{n: old[n] * f for n, f in factors.items()}))


def test_a_drift_that_all_share_and_a_copy_off_alone_do_no_harm():
    for factors in ({"variant": 1.1, "torch": 1.1, "copy": 1.1}, {"copy": 1.1}):
        found = moved(**factors)
        assert (found.paired, found.paired_control) == pytest.approx((0, 0), abs=1e-12)
        assert found.plain_control == pytest.approx(-math.log(1.1))


def test_a_torch_off_alone_does():
    found = moved(torch=1.1)
    assert found.paired == pytest.approx(math.log(1.1))
    assert abs(found.paired_control) == pytest.approx(math.log(1.1))
    assert found.plain == pytest.approx(0, abs=1e-12)


def calls(fixed_us, drift=0.0, slower=1.0, torch=33.0, copy=3.4):
    """When every call takes longer, the machine drifts, and the variant is slower."""
    old = pd.DataFrame({"variant": 5.4, "torch": torch, "copy": copy}, index=range(5))
    new = old.assign(variant=old["variant"] * slower) * (1 + drift) + fixed_us
    return estimate.change(old, new)


def test_a_fixed_time_per_call_is_told_from_a_drift_and_from_a_change():
    found = calls(0.35, drift=0.002)
    assert found.fixed_us == pytest.approx(0.35)
    assert found.paired == pytest.approx(0, abs=1e-9)
    assert found.paired_control == pytest.approx(-math.log(1.002))
    assert calls(0.35, slower=1.1).paired < -0.08
    assert calls(0.0, drift=0.05).fixed_us == 0
