"""Titles of figures: true of the rows that are drawn, losses included."""

import math

import pandas as pd
import pytest

from analysis.figures import findings
from tests.analysis import synthetic
from tests.analysis.synthetic import ranked


@pytest.mark.parametrize(
    ("speeds", "sentence"),
    [
        ([{"a": 2, "b": 1.5}], "a is fastest or tied at 1 of 1 size"),
        ([{"a": 2, "b": 1.999}] * 3, "a is fastest or tied at 3 of 3 sizes"),
        ([{"a": 0.5, "b": 0.4}] * 2, "torch is fastest or tied at 2 of 2 sizes"),
        # torch alone is no race
        ([{"a": 2}, {"b": 2}, {"a": 2}, {}], "a is fastest or tied at 2 of 3 sizes"),
        ([{}], ""),
    ],
)
def test_the_winner_among_the_rows_that_are_drawn(speeds, sentence):
    rows = [
        synthetic.with_speedup(value, variant=name, N=n)
        for n, by_name in enumerate(speeds, start=1)
        for name, value in {"torch_softmax": 1.0, **by_name}.items()
    ]
    expected = f"Of this sweep's kernels, {sentence}" if sentence else findings.NO_RACE
    assert findings.winner(ranked(rows)) == expected


@pytest.mark.parametrize(
    ("rates", "sentence"),
    [
        (
            {1024: 1000, 2048: 2000, 4096: 900, 8192: 1000},
            "torch falls to 45 % of its best throughput at N = 4,096 (H200)",
        ),
        ({1024: 1000, 2048: 2000, 4096: 1700}, ""),  # too little to speak of
    ],
)
def test_the_throughput_that_torch_loses_in_longer_rows(rates, sentence):
    rows = [
        synthetic.row(variant="torch_softmax", N=n, throughput_gbps=rate)
        for n, rate in rates.items()
    ]
    assert findings.torch_loss(ranked(rows)) == sentence


def test_the_time_at_the_largest_matrix():
    times = {"torch_softmax": 30.0, "a": 20.0, "b": 10.0}
    rows = [synthetic.row(variant=name, N=2048, time_us=us) for name, us in times.items()]
    table = ranked([*rows, synthetic.row(variant="c", N=1024, time_us=999.0)])
    table["elements"] = table["M"] * table["N"]
    assert findings.cost(table) == "torch takes 3.0 times as long as b at 1024x2048 (H200)"


def test_the_gain_in_time_may_be_a_loss():
    rows = ranked(synthetic.row(variant="a", N=n) for n in (256, 512))
    saved = rows.assign(saved_us=rows["N"].map({256: -3.0, 512: 1500.0}))
    expected = (
        "a saves -3.0 µs (1024x256) to 1.5 ms (1024x512) of GPU time per call compared with torch"
    )
    assert findings.gain(saved, "a") == expected


def test_the_first_and_the_last_kernel_are_named_where_each_gpu_has_the_same():
    times = {"torch_softmax": (3.0, 4.0), "a": (1.0, 2.0), "b": (2.0, 3.0), "c": (0.5,)}
    rows = ranked(
        synthetic.row(variant=name, gpu=gpu, time_us=us)
        for name, by_gpu in times.items()
        for gpu, us in zip(("h200", "h100"), by_gpu, strict=False)
    )
    expected = (
        "Of the 3 kernels that each GPU has at N = 1,024, a is the fastest and torch the slowest"
    )
    assert findings.same_order(rows) == f"{expected}; faster still: c (H200 only)"
    assert findings.same_order(rows[rows["variant"] != "c"]) == expected
    other = rows.assign(time_us=rows["time_us"].mask(rows["gpu"] == "h100", 1 / rows["time_us"]))
    assert findings.same_order(other) == ""


def test_the_share_of_sizes_near_the_fastest():
    """What cannot run is not near; one size of four is too little to be the first."""
    behind = {"a": [1.5, 1.5, 1, math.inf], "torch_softmax": [1.04, 1, 1, 1]}
    behind["b"] = [math.nan] * 3 + [1.0]
    expected = "torch is within 5 % of the fastest at 100 % of 4 shapes; "
    expected += "at the 3 that a runs, at 100 %, a at 33 %"
    assert findings.profile(pd.DataFrame(behind), 0.05, ["torch_softmax"]) == expected


@pytest.mark.parametrize(
    ("measured", "speeds"), [([2.1, 2.94], "2.1 to 2.9"), ([0.9, math.nan], "0.90")]
)
def test_published_beside_measured(measured, speeds):
    sizes = pd.MultiIndex.from_tuples([("a", 1, 1), ("a", 1, 2)], names=["variant", "M", "N"])
    columns = {("published", "a100"): [2.0, 3.0], ("recorded", "h100"): measured}
    ratios = pd.DataFrame(columns, index=sizes)
    expected = f"a is {speeds} times as fast as b on the H100; 2.0 to 3.0 in the article (A100)"
    assert findings.agreement(ratios, "b") == expected
    renamed = ratios.rename(index={"a": "cuda_oneflow"})
    assert findings.agreement(renamed, "b").startswith("OneFlow is ")
