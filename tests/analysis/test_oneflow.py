"""OneFlow's dispatch: what it takes, what that costs, and how it stands against the others."""

import math

import pytest

from analysis import ranking
from analysis.report import oneflow as report
from analysis.report import winners
from analysis.report.markdown import render
from tests.analysis import oneflow_rows as made
from tests.analysis import synthetic
from tests.analysis.oneflow_rows import SMEM, UNCACHED, WARP


@pytest.fixture
def wide(measurements):
    """Function that makes a frame of the wide sweep."""

    def make(rows=None, **given):
        return measurements(rows or made.rows(made.WIDE, **given), sweep="oneflow_wide")

    return make


def line(text, n, columns):
    """The one line of the table for N = `n` that has so many columns."""
    lines = [
        row.strip("| ").split(" | ") for row in text.splitlines() if row.startswith(f"| {n} |")
    ]
    (found,) = [cells for cells in lines if len(cells) == columns]
    return found


DISPATCH, AGAINST = 9, 5  # columns of the two tables


@pytest.mark.parametrize(
    ("n", "status", "kernel"),
    [
        (1, "ok", WARP),
        (1024, "unsupported", WARP),
        (1025, "ok", SMEM),
        (1025, "incorrect", SMEM),
        (58001, "unsupported", UNCACHED),
        (58001, "timeout", ""),
        (58001, "out_of_memory", ""),
    ],
)
def test_what_the_dispatch_takes(n, status, kernel):
    assert report.taken(n, {SMEM: status}) == kernel


def test_the_choice_at_every_point(wide):
    found = {choice.own["N"]: choice for choice in report.choices(wide())}
    assert list(found) == list(made.WIDE)
    taken = {n: choice.taken for n, choice in found.items()}
    assert [n for n, name in taken.items() if name == WARP] == [128, 768, 1000, 1024]
    assert [n for n, name in taken.items() if name == UNCACHED] == [58001]
    fastest = {n: choice.fastest for n, choice in found.items()}
    assert fastest == dict.fromkeys([128], WARP) | dict.fromkeys(
        [768, 1000, 1024, 1025, 4096], SMEM
    ) | dict.fromkeys([40000, 58000, 58001], UNCACHED)
    # one kernel only is no choice
    assert [n for n, choice in found.items() if not choice.open] == [58001]


def test_what_a_wrong_choice_costs(wide):
    found = {choice.own["N"]: choice for choice in report.choices(wide())}
    slow, fast = made.speedup(WARP, 1024), made.speedup(SMEM, 1024)
    loss = found[1024].loss()
    assert loss.value == pytest.approx(fast / slow)
    width = math.hypot(0.002 / fast, 0.002 / slow)
    assert math.log(loss.high / loss.value) == pytest.approx(width, rel=0.01)
    assert found[128].loss().side() == "unclear"  # the fastest itself loses nothing


def test_the_table_of_the_report(wide):
    text = render(report.section(wide()))
    assert "### `oneflow_wide` on h200 (measured): softmax, float32, normal input" in text
    assert line(text, 128, DISPATCH)[2] == "warp"
    assert line(text, 128, DISPATCH)[6:8] == ["warp", "nothing"]
    cells = line(text, 1024, DISPATCH)
    assert cells[:3] == ["1024", "98304", "warp"]
    assert cells[6] == "smem"
    assert cells[7].startswith("33.3 % [33.0, 33.7]")
    cells = line(text, 58000, DISPATCH)
    assert (cells[2], cells[3], cells[6]) == ("smem", "", "uncached")
    assert "is timed at 9 points; its choice can be judged at 8 of them" in text
    assert "surely not the fastest at 5 of 8, the worst at N = 58000: 45.2 % [" in text


def test_against_torch_and_the_best_triton_row(wide):
    rows = made.rows(made.WIDE)
    rows = [r for r in rows if (r["variant"], r["N"]) != ("triton_persistent", "4096")]
    text = render(report.section(wide(rows)))
    cells = line(text, 128, AGAINST)
    assert cells[4] == "triton_persistent"
    own = made.speedup(WARP, 128)
    assert cells[2].startswith(f"{own:.3f} [")
    assert cells[3].startswith(f"{own / 1.3:.3f} [")
    assert line(text, 4096, AGAINST)[4] == "triton_row"
    # slower at 1000, 1024, 40000, 58000 and 58001
    assert "against torch: faster at 4, slower at 5, no sure difference at 0 of 9 points" in text
    assert "the best Triton row: faster at 1, slower at 8, no sure difference at 0 of 9" in text


def test_the_verdict_tells_where_the_runner_up_is_the_winner_under_another_name(wide):
    rows = [row for row in made.rows(made.WIDE) if not row["variant"].startswith("triton")]
    text = render(winners.section(ranking.summarise(wide(rows)), {"h200": "NVIDIA H200"}))
    # at these the dispatch takes the fastest kernel; elsewhere another one wins, or torch
    twins = [128, 1025, 4096]
    assert f"At {len(twins)} of them winner and runner-up are one kernel" in text
    alone = [row for row in rows if row["variant"] not in made.ONEFLOW[1:]]
    text = render(winners.section(ranking.summarise(wide(alone)), {"h200": "NVIDIA H200"}))
    assert "under two names" not in text


def test_a_dispatch_that_is_not_timed_has_no_section(measurements, online_rows):
    assert render(report.section(measurements(online_rows))) == ""
    crashed = synthetic.row(variant="cuda_oneflow", status="crash")
    assert render(report.section(measurements([*online_rows, crashed]))) == ""
    assert render(report.section(measurements([]))) == ""
