"""Intervals cover what they promise, noise decides nothing, and the formulas are the sources'."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from analysis import ranking, schema, stats
from analysis.frame import is_ranked
from analysis.report.trust import ERRORS
from analysis.stats import Estimate, ratio, spread
from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of
from tests.marks import slow
from tools import results

MINE = [f"mine_{i}" for i in range(15)]
SIZES = (256, 512, 1024, 2048, 4096, 8192, 16384, 32768)


def run(
    seed, variants, replicates=1, spread=0.003, heavy=8, wide=1.0, sizes=SIZES, by_matrix=False
):
    """Rows of a sweep with spread between processes, and their true speed-ups, which are 1.5.

    The spread of a process is t-distributed, with `heavy` degrees of freedom; to `spread` comes a
    hundredth of a µs per call. Processes and A/A deviate `wide` times as much as intervals say.
    `by_matrix`: all processes of a matrix have one spread; else each process has its own.
    """
    rng, rows = np.random.default_rng(seed), []
    half = math.exp(0.0005 * ratio.Z)
    for n in sizes:
        scale = math.sqrt(heavy / rng.chisquare(heavy))
        us = [synthetic.time_us(name, 1024, n, 4) for name in ("copy", "torch_softmax")]
        sd = np.hypot(spread, bool(spread) * 0.01 / np.array(us)) / math.sqrt(heavy / (heavy - 2))
        for variant, replicate in itertools.product(variants, range(1, replicates + 1)):
            t = scale * rng.standard_normal(2) if by_matrix else rng.standard_t(heavy, 2)
            control, own = sd * t
            aa, within = 0.0005 * rng.standard_normal(2) * (wide, 1)
            times = {"torch_us": us[1] * math.exp(control)}
            for name, log in (("speedup", math.log(1.5) + own + wide * within), ("aa", aa)):
                value = math.exp(log)
                times |= {f"{name}_low": value / half, f"{name}_high": value * half}
                times["aa_ratio" if name == "aa" else name] = value
            rows.append(synthetic.row(variant=variant, N=n, replicate=replicate, **times))
    return frame_of(rows)


@pytest.mark.parametrize("replicates", [1, 3, 5])
@pytest.mark.parametrize("heavy", [4, slow(30)])
def test_intervals_cover_the_true_ratio(replicates, heavy):
    """95 % of them: of 960 intervals, 0.937 to 0.963 is within two standard errors."""
    hits = []
    for seed in range(8):
        points = stats.point_estimates(run(seed, MINE, replicates, heavy=heavy))
        hits += list((points["speedup_low"] < 1.5) & (points["speedup_high"] > 1.5))
        assert set(points["processes"]) == {replicates}
    assert 0.93 <= np.mean(hits) <= 0.975


def test_intervals_are_widened_until_a_a_excludes_1_as_often_as_it_may():
    narrow = run(1, MINE[:10], wide=4)
    assert spread.aa_controls(narrow)["excludes"].mean() > 0.3
    k = spread.widening(narrow, narrow)
    assert 3 < k.mean() < 5
    assert (spread.aa_controls(narrow)["z"].abs() > ratio.Z * k).mean() <= 0.05
    fair = run(1, MINE[:10])
    assert spread.widening(fair, fair).max() < 1.4
    few = run(1, ["mine"], wide=4)
    assert set(spread.widening(few, few)) == {1.0}


def test_the_spread_is_that_of_the_boards_own_controls_and_never_zero():
    rows = run(2, MINE[:12], spread=0.004)
    ((a, b, _),) = spread.process_spread(rows).to_numpy()
    for us in (2.5, 80.0):
        assert math.hypot(a, b / us) == pytest.approx(math.hypot(0.004, 0.01 / us), rel=0.4)
    still = run(2, MINE[:12], spread=0.0)
    assert spread.process_spread(still)["a"].min() > 0
    few = run(2, ["mine"])
    assert tuple(spread.process_spread(few).iloc[0]) == spread.DEFAULT
    beside = spread.process_spread(pd.concat([rows, few.assign(sweep="few")]))
    assert (beside.iloc[0] == beside.iloc[1]).all(), "a short sweep has the spread of its board"
    points = stats.point_estimates(run(2, ["mine"]))
    assert (points["speedup_high"] / points["speedup_low"] > 1.02).all()


@pytest.mark.parametrize(("degrees", "low", "high"), [(3, 2.9, 3), (6, 5.5, 6), (20, 18, 20)])
@pytest.mark.parametrize(
    ("a", "b", "us"), [(spread.A_GRID[18], 0.0, 1e6), (5e-5, spread.B_GRID_US[15], 2)]
)
def test_the_spread_of_simulated_processes_is_fitted(degrees, low, high, a, b, us):
    """Smyth's model: sample variances are the prior's, times F of n - 1 and d degrees."""
    rng, n, prior = np.random.default_rng(1), 4, a**2 + (b / us) ** 2
    variance = prior * rng.f(n - 1, degrees, 3000)
    controls = pd.DataFrame({"var": variance, "n": n, "length": us})
    found_a, found_b, found_degrees = spread._fit(controls)
    assert math.hypot(found_a, found_b / us) == pytest.approx(math.sqrt(prior), rel=0.15)
    assert low <= found_degrees < high
    assert spread._fit(controls[:3]) is None
    assert spread._fit(controls[:4]) is not None


def test_a_recorded_kernel_does_not_differ_from_the_same_kernel_under_another_name():
    """`cuda_oneflow` launches one of three variants, by N; of 20 pairs one may have p <= 5 %.

    Each replicate is estimated alone, so a pair has two processes.
    """
    alone = results.recorded().groupby("replicate")
    points = pd.concat([stats.point_estimates(part) for _, part in alone])
    points = points[is_ranked(points, any_board=True)]
    kind = pd.cut(points["N"], [0, 1024, 50_000, math.inf], labels=["warp", "smem", "uncached"])
    launched = "cuda_oneflow_" + kind.astype(str)
    points["same"] = points["variant"].mask(points["variant"] == "cuda_oneflow", launched)
    groups = points.groupby([*schema.SWEEP_MATRIX, "gpu_uuid", "replicate", "same"])
    pairs = [map(stats.estimate, pair.to_dict("records")) for _, pair in groups if len(pair) == 2]
    p = [first.over(second).p_beyond() for first, second in pairs]
    assert len(p) >= 20
    assert np.mean(np.array(p) <= stats.ALPHA) <= stats.ALPHA


def test_replicates_count_with_their_own_variance():
    """Smyth (2004): (d0 · prior + d · own) / (d0 + d), over the number of processes."""
    rows = frame_of(
        synthetic.with_speedup(value, 0.05, variant="mine", N=8192, replicate=i)
        for i, value in enumerate((1.4, 1.5, 1.6), start=1)
    )
    (point,) = stats.point_estimates(rows).to_dict("records")
    own = np.var(np.log([1.4, 1.5, 1.6]), ddof=1)
    a, b, d = spread.DEFAULT
    us = rows[["time_us", "torch_us"]].min(axis=None)
    within = np.log((rows["speedup"] + 0.05) / (rows["speedup"] - 0.05)) / (2 * ratio.Z)
    prior = (within**2).mean() + a**2 + (b / us) ** 2
    assert point["variance"] == pytest.approx((d * prior + 2 * own) / (d + 2) / 3, rel=1e-3)
    assert (point["degrees"], point["processes"]) == (d + 2, 3)
    assert point["speedup"] == pytest.approx((1.4 * 1.5 * 1.6) ** (1 / 3))
    half = math.exp(ratio.t_quantile(d + 2) * math.sqrt(point["variance"]))
    assert point["speedup_low"] == pytest.approx(point["speedup"] / half)
    assert point["speedup_high"] == pytest.approx(point["speedup"] * half)


def test_replicates_give_the_median_of_a_time_and_the_largest_error():
    """Further replicates check three rows, so their errors are smaller, and hide no larger one."""
    processes = enumerate(((9.0, 2e-11), (7.0, 1e-12), (8.0, 3e-12)), start=1)
    rows = frame_of(
        synthetic.row(replicate=i, time_us=us, throttle_reasons="x" * i, **dict.fromkeys(ERRORS, e))
        for i, (us, e) in processes
    )
    (point,) = stats.point_estimates(rows).to_dict("records")
    assert (point["time_us"], *(point[name] for name in ERRORS)) == (8.0, 2e-11, 2e-11, 2e-11)
    assert point["throttle_reasons"] == "x xx xxx"


def test_torch_is_1_by_pairing_and_a_flagged_replicate_is_left_out():
    rows = [
        synthetic.with_speedup(1.01, variant="torch_softmax"),
        synthetic.row(variant="torch_softmax", replicate=2, flags="faster_than_roofline"),
    ]
    (point,) = stats.point_estimates(frame_of(rows)).to_dict("records")
    assert (point["speedup"], point["variance"], point["processes"]) == (1.0, 0.0, 1)
    assert (point["status"], point["unranked_by"]) == ("ok", "")
    assert math.isnan(point["speedup_low"])
    assert math.isnan(point["speedup_high"])


@pytest.mark.parametrize("sizes", [2, 98])
@pytest.mark.parametrize("degrees", [2.75, 4])
def test_means_of_heavy_tails_cover_the_truth(sizes, degrees):
    errors = np.random.default_rng(sizes).standard_t(degrees, (1000, sizes))
    means = [stats.geometric_mean([Estimate(e, 1.0, degrees) for e in row]) for row in errors]
    covered = np.mean([low < 1 < high for low, high in (mean.interval for mean in means)])
    assert 0.93 <= covered <= 0.975


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("degrees", [3, 4, 20])
def test_a_difference_is_as_rare_as_its_p_says(shared, degrees):
    """Also far in the tail, where a ranking looks: p by the number of others and of matrices."""
    rng = np.random.default_rng(1)
    scale = np.sqrt(degrees / rng.chisquare(degrees, (1 if shared else 2, 1_000_000)))
    first, second = rng.standard_normal((2, 1_000_000)) * scale
    errors = abs(first - second)

    def p_that_comes(rate):  # p of the difference that so many exceed
        error = np.quantile(errors, 1 - rate)
        return Estimate(error, 1.0, degrees).over(Estimate(0.0, 1.0, degrees)).p_beyond()

    assert p_that_comes(0.06) >= 0.05
    assert p_that_comes(0.025) <= 0.05
    assert p_that_comes(1e-3) >= 0.9e-3
    assert p_that_comes(1e-4) >= 0.7e-4


@pytest.mark.parametrize("sweeps", [4, slow(60)])
@pytest.mark.parametrize("heavy", [3, 4])
def test_of_equal_variants_none_is_slower_in_95_percent_of_sweeps(sweeps, heavy):
    """In a sweep like fused_softmax: 98 matrices of 6 variants whose processes differ by 1 %."""
    options = {"spread": 0.01, "heavy": heavy, "sizes": [128 * i for i in range(2, 100)]}
    wrong = 0
    for seed in range(sweeps):
        rows = run(seed, MINE[:6], by_matrix=True, **options)
        wrong += not ranking.rank_variants(rows)["in_best_set"].all()
    assert wrong <= 0.05 * sweeps + 2 * math.sqrt(0.05 * 0.95 * sweeps)


def test_quotients_and_means():
    a, b = Estimate(math.log(2), 0.03**2, 8), Estimate(math.log(0.5), 0.04**2, 5)
    ratio = a.over(b)
    assert (ratio.value, ratio.variance, ratio.degrees) == pytest.approx((4, 0.05**2, 5))
    heavy = Estimate(0.1, 0.01, 3)
    for one in (a, heavy):
        assert one.over(Estimate(0.0)) == one, "one uncertain term stays t-distributed"
    assert heavy.over(heavy).variance > 0.02, "the tails of two are heavier than those of one"
    mean = stats.geometric_mean([Estimate(math.log(2), 0.02**2), Estimate(math.log(8), 0.02**2)])
    assert (mean.value, mean.variance) == pytest.approx((4, 0.02**2 / 2))
    assert math.isnan(Estimate(0.3).interval[0])  # a number of the literature
    assert Estimate(0.3).p_beyond() == 0


def test_students_t_as_in_its_tables():
    for degrees, t in ((1, 12.706), (3, 3.182), (8, 2.306), (30, 2.042), (math.inf, 1.960)):
        assert ratio.t_quantile(degrees) == pytest.approx(t, rel=2e-3)
        assert ratio.two_sided_p(t, degrees) == pytest.approx(0.05, rel=1e-2)


def test_nothing_is_beyond_a_margin_that_it_is_within():
    p = [Estimate(log, 0.001**2).p_beyond(0.01) for log in (0.0, 0.01, -0.02)]
    assert p[0] > 0.999
    assert p[1] == pytest.approx(0.5, abs=1e-3)
    assert p[2] < 1e-5
    within = [Estimate(log, 0.001**2).p_within(0.01) for log in (0.0, 0.01, -0.02)]
    assert within == pytest.approx([0, 0.5, 1], abs=1e-3)
    exact = [Estimate(log).p_within(0.01) for log in (0.0, 0.02)]  # numbers of the literature
    assert exact == [0, 1]


def test_corrections_as_in_their_papers():
    # Benjamini and Hochberg's example (1995, section 4.1): they reject 4 hypotheses, Holm 3.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    assert (stats.benjamini_hochberg(p[::-1])[::-1] <= 0.05).tolist() == [True] * 4 + [False] * 11
    assert (stats.holm(p) <= 0.05).tolist() == [True] * 3 + [False] * 12
    assert stats.holm([0.02, 0.01]).tolist() == pytest.approx([0.02, 0.02])
    assert (
        stats.holm([0.9, 0.8]).tolist() == stats.benjamini_hochberg([1.0, 1.0]).tolist() == [1, 1]
    )
    assert len(stats.holm([])) == len(stats.benjamini_hochberg(pd.Series(dtype=float))) == 0
