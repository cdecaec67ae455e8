"""The goals of `frontier` as counted from ranked rows."""

import math

import pytest

from analysis import ranking
from tests.analysis import synthetic
from tests.analysis.synthetic import ranked
from tools import goals

OURS = goals.OURS
speedups = synthetic.with_speedups


def at(judged):
    """N and the value of the matrix furthest from a goal."""
    return judged.index[0][-1], pytest.approx(judged["value"].iloc[0], rel=1e-6)


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
    judged = goals.judged_sizes(ranked(rows))
    counts = [(speedups["met"].sum(), len(speedups)) for speedups in judged.values()]
    assert counts == [(2, 4), (3, 4), (1, 3), (1, 2), (1, 2)]
    worst = (1024, 1.05), (1024, 1.05), (1024, 1.05), (1024, 0.9), (131072, 0.9)
    assert tuple(map(at, judged.values())) == worst
    level = judged["level"].reset_index()
    assert level.loc[~level["met"], "N"].to_list() == [1024, 512]


def test_a_matrix_that_frontier_gets_wrong_is_missed_and_one_without_it_does_not_count():
    without = speedups({"a": 1.0, "b": 1.0})
    judged = goals.judged_sizes(ranked([*without, alone(1024, 65536, status="incorrect")]))
    assert (judged["near"]["met"].sum(), at(judged["near"])) == (0, (65536, math.inf))
    assert not any(map(len, goals.judged_sizes(ranked(without)).values()))


def test_a_lead_within_one_percent_is_neither_won_nor_lost():
    rows = [
        speedups({OURS: 1.5, "peer_liger": 1.5 * x}, [n]) for n, x in ((64, 1.02), (128, 1.005))
    ]
    rows.append(speedups({OURS: 1.5, "peer_liger": 1.2, "peer_quack": 1.2}, [256]))
    races = goals.over_peers(ranking.over_sweeps(ranked([row for part in rows for row in part])))
    assert [*races] == ["peer_quack", "peer_liger"]
    assert goals.won_and_lost(races["peer_liger"]) == (1, 1)
    assert races["peer_liger"].min() == pytest.approx(1 / 1.02, rel=1e-6)
