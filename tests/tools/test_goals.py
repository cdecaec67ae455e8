"""The goals of `frontier` as counted from ranked rows, and what two GPUs have in common."""

import math

import pytest

from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of, ranked
from tools import goals

OURS = goals.OURS
speedups = synthetic.with_speedups


def at(reached):
    """N and the value of the matrix furthest from a goal."""
    return reached.index[0][-1], pytest.approx(reached["value"].iloc[0], rel=1e-6)


def alone(m, n, **columns):
    return synthetic.row(variant=OURS, M=m, N=n, **columns)


def test_each_goal_counts_its_matrices_and_has_the_furthest_first():
    rows = speedups({OURS: 1.5, "peer_liger": 1.5 * 1.005}, [256], warm_us=1.0)
    rows += speedups({OURS: 1.5, "peer_liger": 1.5 * 1.02, "peer_quack": 1.5}, [512], warm_us=1.0)
    rows += speedups({OURS: 1.5, "triton_row": 1.5 * 1.05}, [1024], warm_us=1.0)  # no peer
    rows += speedups({OURS: 1.5, "peer_liger": 1.2}, [4096])  # beyond L2
    rows += [alone(8192, 2048, of_copy=0.96), alone(16384, 1024, of_copy=0.9)]  # 134 MB
    rows += [alone(8192, 1024, of_copy=0.1)]  # 67 MB
    rows += [alone(64, 65536, of_meet=0.97), alone(1, 131072, of_meet=0.9)]
    rows += [alone(65, 65536, of_meet=0.1), alone(64, 65535, of_meet=0.1)]
    reached = goals.reached(ranked(rows))
    assert [(speedups["met"].sum(), len(speedups)) for speedups in reached.values()] == [
        (2, 4),
        (3, 4),
        (1, 2),
        (1, 2),
        (1, 2),
    ]
    worst = (1024, 1.05), (1024, 1.05), (1024, 0.9), (131072, 0.9), (512, 1.02)
    assert tuple(map(at, reached.values())) == worst
    level = reached["level"].reset_index()
    assert level.loc[~level["met"], "N"].to_list() == [1024, 512]
    assert level["low"][0] < level["value"][0] < level["high"][0]


def test_a_matrix_that_frontier_gets_wrong_is_missed_and_one_without_it_does_not_count():
    without = speedups({"a": 1.0, "b": 1.0})
    reached = goals.reached(ranked([*without, alone(1024, 65536, status="incorrect")]))
    assert (reached["near"]["met"].sum(), at(reached["near"])) == (0, (65536, math.inf))
    assert not any(map(len, goals.reached(ranked(without)).values()))


def test_claims_whose_verdict_a_replicate_changes_are_named():
    """torch is ahead in two processes and behind in the third, so all three decide nothing."""
    matrix = {"M": 4096, "distribution": "normal"}
    speeds = enumerate((0.8, 0.8, 1.25), start=1)
    rows = [speedups({"triton_row": x}, [256], replicate=number, **matrix) for number, x in speeds]
    measured = frame_of([row for (row,) in rows], "fused_softmax", "recorded")
    changed = goals.changed_claims(measured)
    assert set(zip(changed["claim"], changed["verdict"], strict=True)) == {("S2-b", "open")}
    expected = {1: "partly", 2: "partly", 3: "not reproduced"}
    assert changed.set_index("replicate")["alone"].to_dict() == expected
    assert goals.changed_claims(measured.query("replicate == 1")).empty


def test_best_sets_are_compared_where_both_gpus_ranked_the_same_kernels():
    h200 = {64: {"a": 1.5, "b": 1.2}, 128: {"a": 1.5, "b": 1.2}, 256: {"a": 1.0, "b": 1.2, "c": 2}}
    h100 = {64: {"a": 1.5, "b": 1.2}, 128: {"a": 1.2, "b": 1.5}, 256: {"a": 1.0, "b": 1.2}}
    rows = [speedups(speeds, [n]) for n, speeds in h200.items()]
    rows += [speedups(speeds, [n], gpu="h100") for n, speeds in h100.items()]
    rows.append(speedups({"a": 1.5, "b": 1.2}, [512]))
    best = goals.best_on_both(ranked([row for part in rows for row in part]), "h100", "h200")
    by_matrix = {matrix[-1]: tuple(sides) for matrix, *sides in best.itertuples(name=None)}
    assert by_matrix == {64: (["a"], ["a"], True), 128: (["b"], ["a"], False)}
    assert goals.best_on_both(ranked(speedups({"a": 1.5, "b": 1.2})), "h100", "h200").empty
