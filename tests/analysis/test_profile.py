"""The performance profile: as numbers, as a figure, and in a table."""

import pytest

from analysis import ranking
from analysis.figures.controls import with_controls
from analysis.figures.lines import draw_profile
from analysis.panels import select
from analysis.report import write
from tests.analysis import synthetic


def of(speeds, sizes, **given):
    """Rows of variants with such speed-ups at each size."""
    return [
        synthetic.with_speedup(value, 0.0005, variant=name, N=n, **given)
        for n in sizes
        for name, value in speeds.items()
    ]


# 20 matrices: `a` is 2 % faster than `b` at 15, and `b` half as fast again at 5
ROWS = of({"a": 1.02, "b": 1.0}, range(1, 16)) + of({"a": 1.0, "b": 1.5}, range(16, 21))


@pytest.mark.parametrize(
    ("name", "percent", "share"),
    [
        ("a", 0, 0.75),
        ("a", 49, 0.75),
        ("a", 51, 1),
        ("b", 0, 0.25),
        ("b", 1.9, 0.25),
        ("b", 2.1, 1),
    ],
)
def test_a_profile_is_the_share_of_matrices_near_the_fastest(ranked, name, percent, share):
    assert ranking.within(ranking.profile(ranked(ROWS))[name], percent) == share


def test_what_a_variant_cannot_run_counts_against_it_and_what_was_not_timed_does_not(ranked):
    failed = [synthetic.row(variant="c", N=n, status="unsupported") for n in (1, 2, 3)]
    alone, third = of({"c": 1.0}, [99]), of({"c": 1.0}, [4])
    excluded = of({"c": 1.0}, [5], flags="faster_than_copy")
    found = ranking.profile(ranked([*ROWS, *failed, *alone, *third, *excluded]))
    assert len(found) == 20  # not the matrix without a competitor
    assert ranking.within(found["c"], 3) == 0.25
    assert ranking.within(found["a"], 1000) == 1


def test_the_figure_has_a_line_for_each_variant(ranked, tables):
    unable = [synthetic.row(variant="c", N=n, status="unsupported") for n in range(1, 21)]
    chosen = select(ranked([*ROWS, *unable]), tables, "h200", "float32", "online_softmax")
    figure = draw_profile(chosen)
    lines = {line.get_gid(): line for line in figure.axes[0].lines}
    assert set(lines) == {"a", "b", "c"}
    x, y = lines["b"].get_data()
    assert x.tolist() == pytest.approx([0, 2, 300])
    assert list(y) == [0.25, 1, 1]
    assert not any(lines["c"].get_ydata())
    words = figure._supxlabel.get_text()
    assert "20 matrices" in figure._suptitle.get_text()
    assert "cannot run or is wrong" in words
    assert "Dolan" in words


def test_torch_as_a_control_is_no_competitor_of_the_figure(ranked, tables):
    chosen = select(with_controls(ranked(ROWS)), tables, "h200", "float32", "online_softmax")
    assert {line.get_gid() for line in draw_profile(chosen).axes[0].lines} == {"a", "b"}


def test_the_table_has_a_line_for_each_kernel(ranked):
    rows = [*ROWS, synthetic.row(variant="b", N=21, status="crash"), *of({"a": 1, "c": 1}, [21])]
    columns, lines = write.profile(ranked(rows))
    found = {line[4]: dict(zip(columns[5:], line[5:], strict=True)) for line in lines}
    assert found["b"] == {
        "matrices": 21,
        "within_1_percent": "0.238",
        "within_4_percent": "0.952",
        "worst": "inf",
        "at": "1024x21",
    }
    assert found["a"]["worst"] == "1.5"
