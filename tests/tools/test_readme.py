"""What README.md says of recorded rows: wins and losses, from rows alone."""

import pandas as pd

from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of
from tools import readme
from tools.goals import OURS

POINT = {"gpu": "h100", "gpu_uuid": "board", "M": 1024, "dtype": "bfloat16"}


def recorded(speeds: dict, n: int = 65536, **columns) -> pd.DataFrame:
    rows = synthetic.with_speedups({"torch_softmax": 1.0} | speeds, [n], **POINT | columns)
    return frame_of(rows, "peers", "recorded")


def test_the_headline_has_the_mean_over_torch_and_the_losses():
    rows = pd.concat([recorded({OURS: 2.0, "peer_liger": 1.2}), recorded({OURS: 2.0}, n=4096)])
    text = readme.headline(rows)
    assert "**2.0 times as fast as PyTorch's** in CUDA graphs" in text
    assert "of 2 measured sizes; half of them gain at least 2.0 times in a graph)" in text
    level = "Of the 1 size where another project's kernel was timed, it is the fastest or within "
    level += "1 % of it at {}."
    assert level.format(1) in text
    lost = readme.headline(recorded({OURS: 1.5, "peer_liger": 1.65}))
    assert level.format(0) in lost
    part = readme.headline(recorded({OURS: 1.5, "frontier_triton": 1.2}))
    assert "Of the 0 sizes where another project's kernel was timed" in part


def test_the_headline_says_that_the_kernel_has_changed_since():
    rows = recorded({OURS: 2.0, "peer_liger": 1.2})
    older = rows.assign(stale="true")
    new = recorded({OURS: 2.0}, n=4096).assign(stale="false")
    sentence = " {} times of `frontier` here are those of an older version of it."
    assert readme.headline(older).endswith(sentence.format("All"))
    assert readme.headline(pd.concat([older, new])).endswith(sentence.format("50 % of the"))
    assert "older" not in readme.headline(new)


def test_an_eager_call_that_is_slower_than_torch_is_a_loss():
    rows = recorded({OURS: 2.0, "peer_liger": 1.2})
    rows["eager_speedup"] = rows["variant"].map({OURS: 0.5})
    assert "in CUDA graphs and 0.50 times as fast in eager calls" in readme.headline(rows)
    slower = "At 1 of 1 size its kernel is faster than torch's but an eager call is slower"
    assert slower in readme.findings(rows)


def test_a_gradient_that_is_behind_is_a_loss():
    backward = {"op": "softmax_backward", "n": 1024}
    rows = recorded({"cuda_backward": 1.0, "triton_backward": 1.25}, **backward)
    said = readme.findings(pd.concat([rows, recorded({OURS: 2.0})]))
    assert "slower at 1, at worst by 25.0 % at 1024x1024 in bfloat16 (softmax_backward)" in said


def test_without_another_projects_kernel_the_findings_say_so():
    assert "No other project's kernel was timed" in readme.findings(recorded({OURS: 2.0}))


def test_the_closest_rival_is_the_nearest_of_those_at_many_sizes(monkeypatch):
    parts = [recorded({OURS: 1.5, "peer_liger": 1.2, "peer_quack": 1.65}, n=2**i) for i in (8, 9)]
    parts.append(recorded({OURS: 1.5, "peer_tileops": 1.8}))
    monkeypatch.setattr(readme.ranking, "MIN_MATRICES", 2)
    text = readme.findings(pd.concat(parts))
    assert "**Of the rivals timed at 2 or more sizes, `peer_quack` comes closest:**" in text
    assert (
        "0.909 times as fast (geometric mean). It is more than 1 % faster than `peer_quack`" in text
    )
    assert "slower at 2, at worst by 10.0 % at 1024x256 in bfloat16." in text


def test_a_point_names_ties():
    tie = readme.points(recorded({OURS: 1.5, "peer_liger": 1.5})).splitlines()[2]
    assert tie.startswith("| softmax, 1024x65536, bfloat16 | H100 |")
    assert "tie: " in tie


def test_the_last_digit_of_a_number_is_one_that_a_reader_remembers():
    text = readme.points(recorded({OURS: 1.23456, "peer_liger": 1.1}))
    assert "| 1.23 |" in text


def test_the_limit_of_few_long_rows_is_that_of_blocks_which_meet():
    for more, share in (({}, "90 %"), ({"of_meet": 0.97}, "97 %")):
        text = readme.points(recorded({OURS: 1.5}, of_copy=0.9, **more))
        assert f" | {share} | " in text.splitlines()[2]


def test_kernels_that_are_wrong_on_masked_logits_are_named():
    speeds = {"frontier_logits": 12.0, "peer_trl": 9.0, "peer_liger_logits": 10.0}
    rows = recorded(speeds, n=128256, op="token_log_prob")
    wrong = {"peer_trl": "first 1024 -inf; one finite", "peer_liger_logits": "large values"}
    rows["special_rows_wrong"] = rows["variant"].map(wrong).fillna("")
    softmax = recorded({OURS: 2.0})
    said = readme.findings(pd.concat([rows, softmax]))
    assert "losses](docs/special_rows.md): `peer_trl`. `frontier_logits` is right, and 12" in said
    assert (
        "faster than the best other kernel at 1 of 1 size, and more than 1 % slower at 0." in said
    )
    assert "Masked logits" not in readme.findings(softmax)
    slower = recorded({"frontier_logits": 8.0, "peer_trl": 10.0}, n=4097, op="token_log_prob")
    said = readme.findings(pd.concat([rows, slower, softmax]))
    assert "more than 1 % slower at 1, at worst by 25.0 % at 1024x4097 in" in said
