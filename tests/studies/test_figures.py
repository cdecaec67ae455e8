"""The figures of the frozen studies: their numbers, and the sentence that follows from them."""

import pandas as pd
import pytest

from studies import figures


@pytest.fixture(scope="module")
def points():
    return figures.load_tools(figures.DATA / "side_by_side.csv")


def test_a_point_is_a_median_of_processes_with_their_spread(tmp_path):
    rows = [
        (tool, us) for tool, times in (("ours", (11, 10, 12)), ("cupti", (8, 8, 8))) for us in times
    ]
    table = pd.DataFrame(rows, columns=["harness", "time_us"])
    table.assign(variant="a", M=1, N=2, cost_s=3.0).to_csv(tmp_path / "rows.csv")
    ours = figures.load_tools(tmp_path / "rows.csv").set_index("tool").loc[figures.OURS]
    values = (ours[figures.SPREAD], ours[figures.RATIO], ours[figures.COST], ours["length"])
    assert values == (pytest.approx(100 * 2 / 11), 11 / 8, 3.0, "below 10 µs")


def test_the_finding_says_which_tool_is_steady_and_what_this_one_is_off(points):
    finding = figures.tools_finding(points)
    assert finding.startswith("Below 10 µs, softmax-bench is the steadiest")
    assert finding.endswith("softmax-bench is up to 13 % above CUPTI")
    ours = points["tool"] == figures.OURS
    worse = points.assign(**{figures.SPREAD: points[figures.SPREAD].mask(ours, 99.0)})
    assert figures.tools_finding(worse).startswith("Below 10 µs, CUPTI (torch.profiler) is the")


def test_both_figures_are_drawn_from_the_committed_rows():
    side_by_side, bias = figures.draw().values()
    names = [tick.get_text() for tick in side_by_side.axes[0].get_yticklabels()]
    assert names == [*figures.TOOLS.values()]
    assert len(bias.axes) == 3
    assert "off by up to 0.44 %, and three extra steps cut that to 0.05 %" in bias.get_suptitle()
