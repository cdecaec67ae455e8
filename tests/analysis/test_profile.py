"""The performance profile: as numbers, as a figure, in the report, and the goals beside it."""

import pytest

from analysis import ranking
from analysis.figures.controls import with_controls
from analysis.figures.lines import draw_profile
from analysis.markdown import render
from analysis.panels import select
from analysis.report import goals
from tests.analysis import synthetic

of = synthetic.with_speedups

# 20 matrices: `a` is 2 % faster than `b` at 15, and `b` half as fast again at 5
ROWS = of({"a": 1.02, "b": 1.0}, range(1, 16)) + of({"a": 1.0, "b": 1.5}, range(16, 21))


def test_a_profile_is_the_share_of_matrices_near_the_fastest(ranked):
    found = ranking.profile(ranked(ROWS))
    assert [ranking.within(found["a"], percent) for percent in (0, 49, 51)] == [0.75, 0.75, 1]
    assert [ranking.within(found["b"], percent) for percent in (0, 1.9, 2.1)] == [0.25, 0.25, 1]


def test_what_a_variant_cannot_run_counts_against_it_and_what_was_not_timed_does_not(ranked):
    failed = [synthetic.row(variant="c", N=n, status="unsupported") for n in (1, 2, 3)]
    alone, third = of({"c": 1.0}, [99]), of({"c": 1.0}, [4])
    excluded = of({"c": 1.0}, [5], flags="faster_than_copy")
    found = ranking.profile(ranked([*ROWS, *failed, *alone, *third, *excluded]))
    assert len(found) == 20  # not the matrix without a competitor
    assert ranking.within(found["c"], 3) == 0.25
    assert ranking.within(found["a"], 1000) == 1


def test_the_figure_has_a_line_for_each_variant_but_torch_as_a_control(ranked, tables):
    unable = [synthetic.row(variant="c", N=n, status="unsupported") for n in range(1, 21)]
    rows = with_controls(ranked([*ROWS, *unable]))
    assert "torch_softmax" in set(rows["variant"])
    figure = draw_profile(select(rows, tables, "h200", "float32", "online_softmax"))
    lines = {line.get_gid(): line.get_data() for line in figure.axes[0].lines}
    assert set(lines) == {"a", "b", "c"}
    assert lines["b"][0].tolist() == pytest.approx([0, 2, 300])
    assert (list(lines["b"][1]), any(lines["c"][1])) == ([0.25, 1, 1], False)
    assert "20 matrices" in figure._suptitle.get_text()
    assert "cannot run or is wrong" in figure._supxlabel.get_text().replace("\n", " ")


def report(measurements, rows):
    """The cells of each line of the report's tables, by the first cell."""
    text = render(goals.section(ranking.summarise(measurements(rows)), "here"))
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return {name: cells for name, *cells in lines}


def test_the_report_has_a_line_for_each_kernel_and_goal(measurements):
    fast = {"frontier": 1.02, "peer_quack": 1.0}
    rows = of(fast, range(1, 17)) + of(fast | {"peer_quack": 1.05}, [18])
    rows += [synthetic.row(variant="frontier", N=19, status="crash")]
    rows += of({"peer_quack": 1.0, "torch_softmax": 1.0}, [19])
    rows += of(fast, [4096], M=8192, of_copy=0.94) + of(fast, [4096], M=4096, of_copy=0.96)
    rows += of({"frontier": 1.0}, [4096], M=16384, of_copy=1.1, flags="faster_than_copy")
    found = report(measurements, rows)
    assert found["frontier"] == ["20", "90 %", "95 %", "does not rank", "1024x19"]
    assert found["peer_quack"] == ["20", "10 %", "100 %", "1.020", "1024x1"]
    assert found["at most 1 % slower than the best other"] == ["20", "90 %", *found["frontier"][3:]]
    assert found["at most 4 % slower than the best other"][1] == "95 %"
    copy = found["0.95 of the copy's speed where 128 MB and more are moved"]
    assert copy == ["2", "50 %", "0.9400", "8192x4096"]


def test_few_matrices_have_no_profile_in_the_report(measurements):
    assert not report(measurements, of({"frontier": 1.0, "a": 2.0}, range(1, 20)))
    assert "goal of frontier" not in report(measurements, ROWS)
