"""Titles of figures: each form of a sentence on rows of which it is true, losses included."""

import math

import pandas as pd
import pytest

from analysis.figures import findings
from tests.analysis import synthetic
from tests.analysis.synthetic import ranked


def speeds(table: dict[int, dict[str, float]]) -> pd.DataFrame:
    """Rows of variants with such speeds over torch at each N; torch has 1."""
    return ranked(
        synthetic.with_speedup(value, variant=name, N=n)
        for n, by_name in table.items()
        for name, value in {"torch_softmax": 1.0, **by_name}.items()
    )


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({64: {"a": 2, "b": 1.5}, 128: {"a": 2, "b": 1.5}}, "a is the fastest at both sizes"),
        (
            {n: {"a": 2, "b": 1.999} for n in (1, 2, 3)},
            "a is the fastest at all 3 sizes, in a tie at 3",
        ),
        ({n: {"a": 2} for n in (1, 2, 3)}, "a is faster than torch at all 3 sizes"),
        ({n: {"a": 0.5} for n in (1, 2, 3)}, "a is not faster than torch at all 3 sizes"),
        ({n: {"a": 0.5, "b": 0.4} for n in (1, 2, 3)}, "No kernel beats torch at all 3 sizes"),
        (
            {1024: {"a": 2, "b": 1.5}, 2048: {"a": 2, "b": 1.5}, 4096: {"a": 1.1, "b": 2}},
            "a is the fastest up to 2,048 columns, b beyond",
        ),
        (
            {1: {"a": 2, "b": 1.9}, 2: {"a": 2, "b": 2.1}, 3: {"a": 2, "b": 1}},
            "a is the fastest or tied at 2 of 3 sizes, "
            "and takes at most 5.0 % longer at the others",
        ),
        (
            {1: {"a": 2, "b": 1.9}, 2: {"a": 1, "b": 3}, 3: {"a": 2, "b": 1}},
            "a is the fastest or tied at 2 of 3 sizes, "
            "and takes at most 3.0 times as long at the others",
        ),
        # b wins at 3 because a was not timed there, so it is no change from a to b
        (
            {1: {"a": 2, "b": 1.5}, 2: {"a": 2, "b": 1.5}, 3: {"b": 1.5}},
            "a is the fastest or tied at all 2 sizes where it ranks, of 3",
        ),
        (
            {n: {"abc"[n % 3]: 2, "abc"[(n + 1) % 3]: 1.5} for n in range(1, 8)},
            "b is the fastest or tied at 3 of the 5 sizes where it ranks, of 7",
        ),
        (
            {n: {"abc"[(n + k) % 3]: 2 - k / 2 for k in range(3)} for n in range(1, 8)},
            "No kernel wins everywhere: b is the fastest at 3 of 7 sizes, a at 2",
        ),
        ({1: {}}, "No two kernels were timed at one size"),
    ],
)
def test_the_winner(table, sentence):
    assert findings.winner(speeds(table)) == sentence


def torch_rates(gpu: str, rates: dict[int, float]) -> list[dict[str, str]]:
    return [
        synthetic.row(gpu=gpu, variant="torch_softmax", N=n, throughput_gbps=rate)
        for n, rate in rates.items()
    ]


FALLING = {1024: 1000.0, 2048: 2000.0, 4096: 900.0, 8192: 800.0}


@pytest.mark.parametrize(
    ("second_gpu", "sentence"),
    [
        ({}, "torch loses at least half of its bandwidth beyond 2,048 columns (M = 1024)"),
        # the second GPU falls later, and by less
        (
            {1024: 1000.0, 2048: 3000.0, 4096: 2900.0, 8192: 1900.0, 16384: 1800.0},
            "torch loses at least a third of its bandwidth beyond 4,096 columns (M = 1024)",
        ),
        ({1024: 1000.0, 2048: 2000.0, 4096: 2100.0, 8192: 2200.0}, ""),
        # a single longer size contradicts, too
        ({1024: 1000.0, 2048: 2000.0, 8192: 1900.0}, ""),
    ],
)
def test_the_bandwidth_that_torch_loses_on_all_gpus(second_gpu, sentence):
    rows = ranked([*torch_rates("h200", FALLING), *torch_rates("h100", second_gpu)])
    assert findings.torch_loss(rows) == sentence


def test_one_size_beyond_the_border_is_no_finding():
    assert findings.torch_loss(ranked(torch_rates("h200", {1: 100.0, 2: 200.0, 4: 50.0}))) == ""


@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        (
            {"torch_softmax": 30.0, "a": 20.0, "b": 10.0},
            "torch takes 3.0 times as long as b at 1024x2048 (H200)",
        ),
        (
            {"torch_softmax": 10.0, "a": 200.0},
            "a takes 20 times as long as torch at 1024x2048 (H200)",
        ),
        ({"torch_softmax": 10.0, "a": 10.05}, "All kernels take the same time at 1024x2048 (H200)"),
        ({"a": 2500.0}, "A call of a takes 2.5 ms at 1024x2048 (H200)"),
    ],
)
def test_the_time_at_the_largest_matrix(times, sentence):
    rows = [synthetic.row(variant=name, N=2048, time_us=us) for name, us in times.items()]
    rows += [synthetic.row(variant="c", N=1024, time_us=999.0)]
    table = ranked(rows)
    assert findings.cost(table.assign(elements=table["M"] * table["N"])) == sentence


@pytest.mark.parametrize(
    ("saved", "sentence"),
    [
        (
            {256: 0.5, 512: 12.0},
            "a saves 0.50 µs (H200, 1024x256) to 12 µs (H200, 1024x512) of GPU time per call over "
            "torch",
        ),
        ({256: 1500.0}, "a saves 1.5 ms of GPU time per call over torch (H200, 1024x256)"),
        (
            {256: -3.0, 512: 40.0},
            "a saves up to 40 µs of GPU time per call over torch (H200, 1024x512), "
            "and costs up to 3.0 µs more (H200, 1024x256)",
        ),
        (
            {256: -3.0, 512: -40.0},
            "a saves nothing: torch is faster at both sizes, by up to 40 µs per call "
            "(H200, 1024x512)",
        ),
    ],
)
def test_the_gain_in_time(saved, sentence):
    rows = ranked(synthetic.row(variant="a", N=n) for n in saved)
    assert findings.gain(rows.assign(saved_us=rows["N"].map(saved)), "a") == sentence


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        (
            {"torch_softmax": (0.8, 0.41), "a": (0.9, 0.959)},
            "a keeps at least 90 % of a copy's speed at every measured N (M = 1024); torch falls "
            "to 41 %",
        ),
        (
            {"a": (0.9, 0.959)},
            "a keeps at least 90 % of a copy's speed at every measured N (M = 1024)",
        ),
        (
            {"torch_softmax": (0.8, 0.7), "a": (0.9, 0.6)},
            "torch keeps at least 70 % of a copy's speed at every measured N (M = 1024), "
            "and no kernel keeps more",
        ),
        (
            {"torch_softmax": (0.8, 0.41), "a": (0.9,)},
            "a keeps at least 90 % of a copy's speed wherever it was timed; torch falls to 41 %",
        ),
    ],
)
def test_the_share_of_a_copy(shares, sentence):
    rows = [
        synthetic.row(variant=name, N=n, of_copy=share)
        for name, by_size in shares.items()
        for n, share in zip((256, 512), by_size, strict=False)
    ]
    assert findings.reach(ranked(rows)) == sentence


@pytest.mark.parametrize(
    ("behind", "sentence"),
    [
        (
            {"a": [1, 1.04, 1, 1.2], "torch_softmax": [1.3, 1, 1.9, 1]},
            "a is within 5 % of the fastest at 75 % of 4 shapes, torch at 50 %",
        ),
        ({"a": [1, 1, 1, 1]}, "a is within 5 % of the fastest at 100 % of 4 shapes"),
        (
            {"a": [1, 1.04, 1, 1.2], "b": [1.2, 1, 1, 1]},
            "a and b are each within 5 % of the fastest at 75 % of 4 shapes",
        ),
        (
            {"a": [1.5, 1.5, 1.5, math.inf], "torch_softmax": [1, 1, 1, 1]},
            "torch is within 5 % of the fastest at 100 % of 4 shapes, a at 0 % "
            "(0 % of the 3 that it runs)",
        ),
        # one size of four is too little to be the first
        (
            {"a": [1, 1.04, 1, 1.2], "b": [math.nan] * 3 + [1.0]},
            "a is within 5 % of the fastest at 75 % of 4 shapes",
        ),
    ],
)
def test_the_share_of_sizes_near_the_fastest(behind, sentence):
    assert findings.profile(pd.DataFrame(behind), 0.05, ["torch_softmax"]) == sentence


@pytest.mark.parametrize(
    ("leads", "sentence"),
    [
        ([1.2, 1.0, 1.3], "a loses nowhere: of 3 sizes with a rival it leads at 2 and ties at 1"),
        (
            [1.2, 0.98, 0.95],  # the second is a tie, because its interval is wide
            "a leads or ties at 2 of 3 sizes with a rival; elsewhere it takes up to 5.3 % longer",
        ),
        ([0.9, 0.4], "a loses at both sizes with a rival, and takes up to 2.5 times as long"),
        ([], "a was timed beside torch alone"),
    ],
)
def test_the_lead_over_the_best_rival(leads, sentence):
    table = pd.DataFrame({"lead": leads, "tie": [lead in (0.98, 1.0) for lead in leads]})
    assert findings.lead(table.astype({"lead": float, "tie": bool}), "a") == sentence


@pytest.mark.parametrize(
    ("measured", "sentence"),
    [
        ([2.1, 2.9], "a over b: every measured ratio is within 20 % of the article's"),
        (
            [1.2, 2.9],
            "a beats b as published; 1 of 2 ratios is within 20 % of the article's",
        ),
        ([0.9, 2.9], "a over b turns out the other way at 1 of 2 points"),
        ([math.nan, 2.9], "a over b: every measured ratio is within 20 % of the article's"),
        ([math.nan, math.nan], "a is published, and was not measured"),
    ],
)
def test_published_beside_measured(measured, sentence):
    sizes = pd.MultiIndex.from_tuples([("a", 1, 1), ("a", 1, 2)], names=["variant", "M", "N"])
    columns = {("published", "a100"): [2.0, 3.0], ("recorded", "h100"): measured}
    assert findings.agreement(pd.DataFrame(columns, index=sizes), "b") == sentence
