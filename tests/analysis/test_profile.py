"""The performance profile: as numbers, as a figure, and in a table."""

from analysis import ranking
from analysis.figures.panels import select
from analysis.figures.profile import FURTHEST, draw_profile
from analysis.report import write
from tests.analysis import synthetic
from tests.analysis.synthetic import ranked

speedups = synthetic.with_speedups

# 20 matrices: `a` is 2 % faster than `b` at 15, and `b` half as fast again at 5
ROWS = speedups({"a": 1.02, "b": 1.0}, range(1, 16)) + speedups({"a": 1.0, "b": 1.5}, range(16, 21))


def names(axes):
    return {text.get_text() for text in axes.texts}


def test_a_profile_is_the_share_of_matrices_near_the_fastest():
    """What a variant cannot run counts against it, and what was not timed does not."""
    failed = [synthetic.row(variant="c", N=n, status="unsupported") for n in (1, 2, 3)]
    alone, third = speedups({"c": 1.0}, [99]), speedups({"c": 1.0}, [4])
    excluded = speedups({"c": 1.0}, [5], flags="faster_than_roofline")
    excluded += [synthetic.row(variant="c", N=n, status="unavailable") for n in range(6, 21)]
    actual = ranking.profile(ranked(ROWS))
    assert [ranking.share_within(actual["a"], percent) for percent in (0, 49, 51)] == [
        0.75,
        0.75,
        1,
    ]
    assert [ranking.share_within(actual["b"], percent) for percent in (0, 1.9, 2.1)] == [
        0.25,
        0.25,
        1,
    ]
    actual = ranking.profile(ranked([*ROWS, *failed, *alone, *third, *excluded]))
    assert len(actual) == 20  # not the matrix without a competitor
    assert ranking.share_within(actual["c"], 3) == 0.25
    assert ranking.share_within(actual["a"], 1000) == 1


def test_the_figure_has_a_curve_for_each_variant_but_torch_as_a_control(tables):
    unable = [synthetic.row(variant="c", N=n, status="unsupported") for n in range(1, 21)]
    chosen = select(ranked([*ROWS, *unable]), tables, "h200", "float32", "online_softmax")
    assert "torch_softmax" in set(chosen.own["variant"])
    figure = draw_profile(chosen)
    (axes,) = figure.axes
    assert names(axes) == {"a, 75 %", "b, 100 %", "c, 0 %"}
    by_colour = {
        line.get_color(): line.get_data() for line in axes.lines if len(line.get_xdata()) > 3
    }
    x, y = by_colour[chosen.styles["b"].colour]
    assert [share for behind, share in zip(x, y, strict=True) if behind <= 0.01][-1] == 0.25
    assert (x[-1], y[-1]) == (FURTHEST, 1)
    assert (
        figure._suptitle.get_text()
        == "b is within 5 % of the fastest at 100 % of 20 shapes; a at 75 %"
    )


def test_a_second_panel_has_the_shapes_that_the_runner_up_runs(tables):
    """Where it cannot run says nothing about its speed."""
    rows = speedups({"a": 1.2, "b": 1.0}, range(1, 6)) + speedups(
        {"a": 1.0, "b": 1.0}, range(6, 16)
    )
    rows += speedups({"a": 1.0, "c": 0.5}, range(16, 21))
    rows += [synthetic.row(variant="b", N=n, status="unsupported") for n in range(16, 21)]
    chosen = select(ranked(rows), tables, "h200", "float32", "online_softmax")
    every, some = draw_profile(chosen).axes
    titles = [axes.get_title(loc="left") for axes in (every, some)]
    assert titles == ["all 20 shapes", "the 15 shapes that b runs"]
    assert {"a, 100 %", "b, 50 %"} <= names(every)
    assert {"a, 100 %", "b, 67 %"} <= names(some)


def test_the_table_has_a_line_for_each_kernel():
    rows = [
        *ROWS,
        synthetic.row(variant="b", N=21, status="crash"),
        *speedups({"a": 1, "c": 1}, [21]),
    ]
    table = write.profile(ranked(rows))
    actual = table.set_index("variant").iloc[:, 4:].to_dict("index")
    within = {"within_1_percent": "0.238", "within_4_percent": "0.952"}
    assert actual["b"] == within | {"matrices": 21, "worst": "inf", "at": "1024x21"}
    assert actual["a"]["worst"] == "1.5"
