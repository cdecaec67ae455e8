"""The performance profile: as numbers, as a figure, and in a table."""

import pytest

from analysis import ranking
from analysis.figures.lines import draw_profile
from analysis.panels import select
from analysis.report import write
from tests.analysis import synthetic
from tests.analysis.synthetic import ranked

of = synthetic.with_speedups

# 20 matrices: `a` is 2 % faster than `b` at 15, and `b` half as fast again at 5
ROWS = of({"a": 1.02, "b": 1.0}, range(1, 16)) + of({"a": 1.0, "b": 1.5}, range(16, 21))


def test_a_profile_is_the_share_of_matrices_near_the_fastest():
    """What a variant cannot run counts against it, and what was not timed does not."""
    failed = [synthetic.row(variant="c", N=n, status="unsupported") for n in (1, 2, 3)]
    alone, third = of({"c": 1.0}, [99]), of({"c": 1.0}, [4])
    excluded = of({"c": 1.0}, [5], flags="faster_than_roofline")
    excluded += [synthetic.row(variant="c", N=n, status="unavailable") for n in range(6, 21)]
    found = ranking.profile(ranked(ROWS))
    assert [ranking.within(found["a"], percent) for percent in (0, 49, 51)] == [0.75, 0.75, 1]
    assert [ranking.within(found["b"], percent) for percent in (0, 1.9, 2.1)] == [0.25, 0.25, 1]
    found = ranking.profile(ranked([*ROWS, *failed, *alone, *third, *excluded]))
    assert len(found) == 20  # not the matrix without a competitor
    assert ranking.within(found["c"], 3) == 0.25
    assert ranking.within(found["a"], 1000) == 1


def test_the_figure_has_a_line_for_each_variant_but_torch_as_a_control(tables):
    unable = [synthetic.row(variant="c", N=n, status="unsupported") for n in range(1, 21)]
    chosen = select(ranked([*ROWS, *unable]), tables, "h200", "float32", "online_softmax")
    assert "torch_softmax" in set(chosen.own["variant"])
    figure = draw_profile(chosen)
    lines = {line.get_gid(): line.get_data() for line in figure.axes[0].lines}
    assert set(lines) == {"a", "b", "c"}
    assert lines["b"][0].tolist() == pytest.approx([0, 2, 300])
    assert (list(lines["b"][1]), any(lines["c"][1])) == ([0.25, 1, 1], False)
    assert "20 matrices" in figure._suptitle.get_text()
    assert "cannot run or is wrong" in figure._supxlabel.get_text().replace("\n", " ")


def test_the_table_has_a_line_for_each_kernel():
    rows = [*ROWS, synthetic.row(variant="b", N=21, status="crash"), *of({"a": 1, "c": 1}, [21])]
    table = write.profile(ranked(rows))
    found = table.set_index("variant").iloc[:, 4:].to_dict("index")
    within = {"within_1_percent": "0.238", "within_4_percent": "0.952"}
    assert found["b"] == within | {"matrices": 21, "worst": "inf", "at": "1024x21"}
    assert found["a"]["worst"] == "1.5"
