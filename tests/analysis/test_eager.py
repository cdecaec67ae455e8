"""Eager calls beside graphs: the ratio to torch, its interval, and rows that lack it."""

import math

import pandas as pd
import pytest

from analysis import ranking
from analysis.stats import eager
from tests.analysis import synthetic
from tests.analysis.synthetic import ranked

UNMEASURED = dict.fromkeys(("torch_latency_us", "eager_speedup"), "")
UNMEASURED |= dict.fromkeys(eager.INTERVAL, "")
TORCH = {"variant": "torch_softmax", "time_us": 5.0, "torch_us": 5.0}


def kernel(**columns):
    times = {"variant": "triton_row", "time_us": 4.0, "torch_us": 5.0, "latency_us": 12.0}
    return synthetic.row(**times | columns)


def test_the_interval_of_eager_calls_reaches_over_all_processes():
    speeds = [(0.60, 0.59, 0.61), (0.62, 0.61, 0.64), (0.64, 0.60, 0.65)]
    rows = [
        kernel(
            replicate=number, eager_speedup=value, eager_speedup_low=low, eager_speedup_high=high
        )
        for number, (value, low, high) in enumerate(speeds, start=1)
    ]
    (line,) = ranked(rows).to_dict("records")
    assert (line["eager_us"], line["torch_eager_us"]) == (12.0, 7.6)
    assert [line[f"eager_speedup{end}"] for end in ("", "_low", "_high")] == [0.62, 0.59, 0.65]


def test_older_rows_are_compared_with_eager_calls_of_torch_s_own_row_without_an_interval():
    rows = [kernel(**UNMEASURED), synthetic.row(**TORCH, latency_us=7.2, **UNMEASURED)]
    lines = ranked(rows).set_index("variant")
    assert lines.loc["triton_row", "eager_speedup"] == pytest.approx(7.2 / 12.0)
    assert lines["eager_speedup"]["torch_softmax"] == 1.0
    assert lines[eager.INTERVAL].isna().all(axis=None)
    alone = ranked([kernel(**UNMEASURED)])
    assert math.isnan(alone["eager_speedup"].iloc[0])
    assert eager.over_torch(ranking.over_sweeps(alone), "triton_row") is None


def test_means_over_torch_count_the_sizes_at_which_only_the_kernel_is_faster():
    rows = [
        kernel(N=n, speedup=2.0, speedup_low=1.99, speedup_high=2.01, eager_speedup=ratio)
        for n, ratio in ((64, 0.5), (128, 2.0), (256, 8.0))
    ]
    sizes = ranking.over_sweeps(ranked(rows))
    means = eager.over_torch(sizes, "triton_row")
    assert (means.sizes, means.slower) == (3, 1)
    assert (means.graph, means.eager) == pytest.approx((2.0, 2.0))


def test_several_sweeps_give_the_ends_of_all_their_intervals():
    frames = [
        synthetic.frame_of(
            [kernel(replicate=number, eager_speedup_low=low, distribution=name)], name
        )
        for number, (low, name) in enumerate(((0.5, "uniform"), (0.7, "normal")), start=1)
    ]
    table = ranking.rank_variants(pd.concat(frames, ignore_index=True))
    (line,) = ranking.over_sweeps(table).to_dict("records")
    assert line["eager_speedup_low"] == 0.5
