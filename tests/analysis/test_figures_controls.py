"""torch in figures of sweeps that have no rows of it."""

from analysis import ranking
from analysis.figures import controls
from analysis.figures.lines import draw_over_n
from analysis.panels import select
from tests.analysis import synthetic

TIMES = {"time_us": 10.0, "copy_us": 9.0, "of_copy": 0.9, "torch_us": 20.0, "speedup": 2.0}


def row(**given):
    low_high = {"speedup_low": 1.9, "speedup_high": 2.1}
    own = TIMES | low_high | {"variant": "triton_row", "N": 1024}
    return synthetic.row(**own | given)


def test_torch_becomes_a_row_with_what_its_controls_know(measurements):
    rows = [row(torch_us=value, variant=f"triton_{value}") for value in (19.0, 20.0, 24.0)]
    rows = measurements(rows)
    found = controls.with_controls(rows)
    (torch,) = found[found["flags"] == controls.CONTROL].to_dict("records")
    assert (torch["variant"], torch["time_us"], torch["speedup"]) == ("torch_softmax", 20.0, 1.0)
    assert (torch["of_copy"], torch["throughput_gbps"]) == (0.45, rows["throughput_gbps"][1] / 2)


def test_nothing_is_added_without_times_or_beside_a_timed_row_of_torch(measurements):
    failed = measurements([row(status="timeout", time_us="", torch_us="")])
    beside = measurements([row(), row(variant="torch_softmax")])
    assert all(controls.with_controls(rows) is rows for rows in (failed, beside))


def test_a_control_does_not_compete_and_a_figure_says_what_it_is(ranked, tables):
    rows = controls.with_controls(ranked([row(), row(N=2048)], sweep="x"))
    assert rows["rank"].tolist()[:2] == [1, 1]
    assert rows["competitors"].tolist() == [1, 1, 0, 0]
    assert ranking.highlighted([rows], 1) == ["torch_softmax", "triton_row"]
    figure = draw_over_n(select(rows, tables, "h200", "float32", "x"), "time_us")
    assert "torch_softmax" in {line.get_gid() for line in figure.axes[0].lines}
    assert "torch_softmax: also as" in figure._supxlabel.get_text()
