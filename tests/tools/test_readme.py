"""What README.md says of recorded rows: wins and losses, from rows alone."""

import pandas as pd
import pytest

from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of
from tools import readme
from tools.goals import OURS

POINT = {"gpu": "h100", "gpu_uuid": "board", "M": 1024, "dtype": "bfloat16"}


def recorded(speeds: dict, n: int = 65536, sweep: str = "peers", **columns) -> pd.DataFrame:
    rows = synthetic.with_speedups({"torch_softmax": 1.0} | speeds, [n], **POINT | columns)
    return frame_of(rows, sweep, "recorded")


@pytest.fixture(scope="module")
def rows():
    """Softmax that wins and loses, logits of which TRL is wrong, and a gradient."""
    parts = [recorded({OURS: 1.5, "peer_liger": 1.2, "peer_quack": 1.65}, n) for n in (256, 512)]
    parts.append(recorded({OURS: 1.5, "peer_tileops": 1.8, "torch_softmax": 1.0}, 1024))
    parts.append(recorded({OURS: 2.0}, dtype="float32", sweep="mine"))
    for dtype in ("bfloat16", "float32"):
        parts.append(recorded({OURS: 2.5, "peer_liger": 2.0}, 4096, "random", dtype=dtype))
    parts.append(recorded({"cuda_backward": 1.5}, op="softmax_backward"))
    for op, dtype in [("token_log_prob", "bfloat16"), ("token_log_prob", "float32")]:
        speeds = {"frontier_logits": 12.0, "peer_trl": 15.0}
        parts.append(recorded(speeds, op=op, dtype=dtype))
    parts.append(recorded({"frontier_logits": 9.0}, op="cross_entropy"))
    nan = recorded({"peer_quack": 1.0}, 151936, status="incorrect", message="check: nan")
    parts.append(nan[nan["variant"] == "peer_quack"])
    rows = pd.concat(parts, ignore_index=True)
    rows["special_rows_wrong"] = rows["variant"].map({"peer_trl": "one finite"}).fillna("")
    older = rows["variant"].eq("frontier_logits") & rows["op"].eq("cross_entropy")
    rows["stale"] = older.map({True: "true", False: "false"})
    slow = rows["variant"].eq(OURS) & rows["N"].eq(256)
    rows["eager_speedup"] = rows["variant"].eq(OURS).map({True: 1.5}).mask(slow, 0.5)
    return rows


def test_the_headline_has_a_mean_of_random_shapes_for_each_dtype(rows):
    text = readme.headline(rows)
    assert "**2.5 times as fast as PyTorch's in bfloat16 and 2.5 times in float32**" in text
    assert "in eager calls 1.5 and 1.5 times; geometric means over 1 shapes each)" in text


@pytest.mark.parametrize(
    "said",
    [
        "Of the 5 sizes of softmax and log-softmax where a kernel besides torch's was timed, it is "
        "the fastest or within 1 % of it at 2; of the 2 random shapes among them, at 2.",
        "At 2 of the 5 sizes where at least one of them was timed, `frontier` is the fastest or",
        "0.909 times as fast as its closest rival, `peer_quack` (geometric mean of the 2 sizes",
        "(log_softmax, then gather): 12 times (1 size) in bfloat16 and 12 times (1 size) in",
        "(geometric means). At 1 of these 3 sizes an older version of the kernel was measured.",
        "-inf, `peer_trl` return [wrong log-probabilities or losses](docs/special_rows.md). "
        "`peer_quack` return NaN even on ordinary 16-bit rows of 151936 columns.",
        "At 3 of the 5 sizes where a kernel besides torch's was timed, `frontier` is more than 1 % "
        "behind the fastest: `peer_quack` leads at 2, others at 1. The largest loss is 20 %, to "
        "`peer_tileops` (softmax, 1024x1024, bfloat16); [the results](docs/results.md#goals)",
        "the fastest: `peer_trl` leads at 2. The largest loss is 25 %, to `peer_trl` (token_log",
        "At 1 of 6 sizes of softmax and log-softmax the kernel is faster than torch's, but the "
        "host time of its launch makes an eager call slower",
        "`cuda_backward` is faster than torch's: 1.5 times (1 size) for softmax_backward",
        "`softmax`, `softmax_backward` and `token_log_prob` have results; `cross_entropy_and_grad",
    ],
)
def test_the_findings_name_wins_and_losses(rows, said, monkeypatch):
    monkeypatch.setattr(readme.ranking, "MIN_MATRICES", 2)
    monkeypatch.setattr(readme, "MOST_RIVALS", 1)
    assert said in readme.findings(rows)


def test_a_point_names_ties_and_has_digits_that_a_reader_remembers():
    tie = readme.points(recorded({OURS: 1.5, "peer_liger": 1.5}, 128256, M=4096)).splitlines()[2]
    assert tie.startswith("| softmax, 4096x128256, bfloat16 |")
    assert "tie: " in tie
    text = readme.points(recorded({OURS: 1.23456, "peer_liger": 1.1}, 128256, M=4096))
    assert "| 1.23 |" in text


def test_the_limit_of_few_long_rows_is_that_of_blocks_which_meet():
    for more, share in (({}, "90 %"), ({"of_meet": 0.97}, "97 %")):
        text = readme.points(recorded({OURS: 1.5}, 128256, M=4096, of_copy=0.9, **more))
        assert f" | {share} | " in text.splitlines()[2]
