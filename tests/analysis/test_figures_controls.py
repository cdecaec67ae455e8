"""torch in figures of sweeps that have no rows of it."""

from analysis import ranking
from analysis.figures import controls
from analysis.figures.lines import draw_time
from analysis.panels import select
from tests.analysis import synthetic

TIMES = {"time_us": 10.0, "copy_us": 9.0, "of_copy": 0.9, "torch_us": 20.0, "speedup": 2.0}


def row(**given):
    low_high = {"speedup_low": 1.9, "speedup_high": 2.1}
    own = TIMES | low_high | {"variant": "triton_row", "N": 1024}
    return synthetic.row(**own | given)


def made(rows):
    return rows[rows["flags"] == controls.CONTROL].set_index("variant")


def test_torch_becomes_a_row_with_what_its_control_knows(measurements):
    rows = measurements([row()])
    found = made(controls.with_controls(rows))
    assert list(found.index) == ["torch_softmax"]
    torch = found.loc["torch_softmax"]
    assert (torch["time_us"], torch["speedup"], torch["of_copy"]) == (20.0, 1.0, 0.45)
    assert torch["throughput_gbps"] == rows["throughput_gbps"].iloc[0] / 2


def test_a_timed_row_of_torch_counts_alone(measurements):
    rows = [row(), row(variant="torch_softmax")]
    assert made(controls.with_controls(measurements(rows))).empty


def test_several_rows_of_a_point_make_one(measurements):
    rows = [row(torch_us=value, variant=f"triton_{value}") for value in (19.0, 20.0, 24.0)]
    found = made(controls.with_controls(measurements(rows)))
    assert found.loc["torch_softmax", "time_us"] == 20.0


def test_without_times_nothing_is_added(measurements):
    rows = measurements([row(status="timeout", time_us="", torch_us="")])
    assert controls.with_controls(rows) is rows


def test_a_control_does_not_compete(ranked):
    rows = controls.with_controls(ranked([row()]))
    assert rows["rank"].tolist()[:1] == [1]
    assert rows["competitors"].tolist() == [1, 0]
    assert ranking.highlighted([rows], 1) == ["torch_softmax", "triton_row"]


def test_a_figure_says_that_torch_is_a_control(ranked, tables):
    rows = controls.with_controls(ranked([row(), row(N=2048)], sweep="x"))
    figure = draw_time(select(rows, tables, "h200", "float32", "x"))
    (axes,) = figure.axes
    assert "torch_softmax" in {line.get_gid() for line in axes.lines}
    assert "torch_softmax: also as the other rows' control" in figure._supxlabel.get_text()
