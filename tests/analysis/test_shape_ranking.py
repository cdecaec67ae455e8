"""The answer for one shape: who ranks, who was not timed, and the sentence on a kernel."""

import pytest

from analysis.frame import roofline_share
from analysis.report import shape_ranking
from tests.analysis import synthetic

SIZE = {"dtype": "bfloat16", "M": 4096, "N": 1024}
TORCH = synthetic.with_speedup(1.0, 0.0005, variant="torch_softmax", **SIZE)
ABSENT = {"peer_helion": "no time was left"}


def table_of(*rows):
    table = synthetic.ranked([TORCH, *rows], sweep="shape")
    return table.assign(of_limit=roofline_share(table))


def kernel(name, speedup, **columns):
    return synthetic.with_speedup(speedup, 0.0005, variant=name, **SIZE, **columns)


MINE = kernel(
    "triton_row",
    1.5,
    flags="edge_cases launch_bound",
    message="wrong on special values: rows with -inf: nan at column 3",
    special_rows_wrong="rows with -inf",
    of_copy=0.92,
    time_us=4.2,
    torch_us=6.3,
    latency_us=33.0,
    torch_latency_us=13.2,
    eager_speedup=0.4,
    eager_speedup_low=0.391,
    eager_speedup_high=0.409,
)


def test_the_ranking_has_both_times_and_names_who_was_not_timed():
    quack = synthetic.row(
        variant="peer_quack", status="unsupported", message="N = 5: multiples of 8", **SIZE
    )
    biased = kernel("peer_liger", 1.2, flags="aa_biased")
    text = shape_ranking.report(table_of(kernel("frontier", 2.0), MINE, quack, biased), ABSENT)
    lines = text.splitlines()
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["1", "frontier"],
        ["2", "triton_row‡"],
        ["3", "torch_softmax"],
    ]
    for word in ("33.0 µs", "1.500 [", "0.4000 [0.3910, 0.4090]", "92 %", "rows with -inf"):
        assert word in lines[2]
    assert "fastest: frontier" in lines
    assert "eager calls of frontier are GPU-bound: as long as in a graph" in lines
    assert "  peer_quack   unsupported: N = 5: multiples of 8" in lines
    assert "  peer_liger   not ranked: torch against itself was off by more than 1 %" in lines
    assert "  peer_helion  no time was left" in lines


def test_who_waits_for_the_host_and_who_had_no_rival_is_told():
    lines = shape_ranking.report(table_of(MINE), {}).splitlines()
    assert "no winner: no rival besides torch was timed" in lines
    host = "eager calls of triton_row are host-bound: 33.0 µs per call; torch_softmax takes 13.2"
    assert host in lines
    assert "fastest" not in "".join(lines)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [MINE, kernel("frontier", 1.8)],
            "92 % of the limit, 1.20 times the time of frontier, wrong on rows with -inf",
        ),
        (
            [MINE | {"special_rows_wrong": "", "flags": ""}, kernel("frontier", 1.501)],
            "92 % of the limit, 1.00 times the time of frontier (a tie), right everywhere",
        ),
        (
            [MINE],
            "92 % of the limit, 0.67 times the time of torch_softmax (no other kernel was timed), "
            "wrong on rows with -inf",
        ),
        (
            [synthetic.row(variant="triton_row", status="crash", message="signal 11", **SIZE)],
            "not timed, crash: signal 11",
        ),
    ],
)
def test_the_sentence_on_a_kernel(rows, sentence):
    table = table_of(*rows)
    assert shape_ranking.verdict(table, "triton_row", {}) == f"triton_row: {sentence}"
    assert shape_ranking.fails(table, "triton_row") == (rows[0]["status"] == "crash")


def test_the_sentence_names_rivals_that_have_no_row():
    sentence = shape_ranking.verdict(table_of(MINE, kernel("frontier", 1.8)), "triton_row", ABSENT)
    assert sentence.endswith("time of frontier, wrong on rows with -inf; not timed: peer_helion")


def test_a_kernel_without_a_row_fails_and_says_why():
    assert (
        shape_ranking.verdict(table_of(), "peer_helion", ABSENT) == "peer_helion: no time was left"
    )
    assert shape_ranking.fails(table_of(), "peer_helion")


def test_checks_have_no_times():
    way = "in Triton's interpreter: right on ordinary values, wrong on large values, rows with -inf"
    wrong = {"special_rows_wrong": "large values; rows with -inf"}
    row = synthetic.row(variant="triton_row", status="interpreted", **wrong, **SIZE)
    assert shape_ranking.checked(table_of(row), ABSENT).splitlines() == [
        "  torch_softmax  right",
        f"  triton_row     {way}",
        "  peer_helion    no time was left",
    ]
