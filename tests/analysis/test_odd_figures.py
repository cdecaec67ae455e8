"""Figures of rows that are few, failed, without intervals, or of variants that nobody knows."""

import pytest

from analysis.figures.curves import draw_throughput, draw_time
from analysis.figures.heatmap import draw_speedup
from analysis.figures.overview import draw_overview
from analysis.panels import select
from tests.analysis import synthetic

SET = ("h200", "float32", "mine")
NONE = dict.fromkeys(["time_us_q20", "time_us_q80", "speedup_low", "speedup_high"], "")


@pytest.fixture
def drawn(ranked, tables):
    """Function that draws all kinds of figures of some rows: kind -> figure."""

    def draw(rows):
        frame = ranked(rows, sweep=SET[2])
        chosen = select(frame, tables, *SET)
        kinds = {"time": draw_time, "throughput": draw_throughput, "speedup": draw_speedup}
        found = {kind: draw(chosen) for kind, draw in kinds.items()}
        return found | {"overview": draw_overview(frame, tables)}

    return draw


def lines(figure):
    return {line.get_gid(): line for axes in figure.axes for line in axes.lines}


def test_one_row(drawn):
    found = drawn([synthetic.row(variant="triton_row")])
    for kind in ("time", "throughput"):
        shown = lines(found[kind])
        assert set(shown) == {"triton_row", "triton_row band", "copy"}
        assert shown["copy"].get_marker() == "_"  # a line through one size has no length
        (axes,) = found[kind].axes
        inside = axes.get_window_extent()
        points = axes.transData.transform(shown["triton_row"].get_xydata())
        assert all(inside.contains(*point) for point in points)
    cells, _ = found["speedup"].axes
    assert len(cells.texts) == 1
    (panel,) = found["overview"].axes
    assert {"triton_row", "copy"} <= set(lines(found["overview"]))
    assert not panel.patches  # one competitor has no strip


def test_no_row_that_is_ok(drawn):
    found = drawn([synthetic.row(variant=name, status="crash") for name in synthetic.VARIANTS])
    for kind in ("time", "throughput", "overview"):
        assert not found[kind].axes
        assert any("10 crash" in text.get_text() for text in found[kind].texts)
    cells, _ = found["speedup"].axes
    assert [text.get_text() for text in cells.texts] == ["crash"] * 10
    assert not cells.patches  # no frame around a fastest one


@pytest.mark.parametrize("half", [0.01, 0.3])
def test_the_best_set_of_each_size_is_framed(drawn, half):
    """Dashed where it has several variants."""
    speeds = {256: ("triton_row", "triton_fused"), 512: ("triton_fused", "triton_row")}
    rows = [
        synthetic.with_speedup(value, half, variant=name, N=n)
        for n, names in speeds.items()
        for name, value in zip(names, (1.5, 1.2), strict=True)
    ]
    cells, _ = drawn(rows)["speedup"].axes
    best = {f"fastest {names[0]} {n}": "-" for n, names in speeds.items()}
    every = {f"fastest {name} {n}": "--" for n, names in speeds.items() for name in names}
    found = {patch.get_gid(): patch.get_linestyle() for patch in cells.patches}
    assert found == (best if half < 0.1 else every)


def test_a_throttled_time_has_a_mark_and_a_legend(drawn):
    rows = [synthetic.row(N=n, flags="throttled" if n == 256 else "") for n in (256, 512)]
    for kind, figure in drawn(rows).items():
        marked = [t for axes in figure.axes for t in axes.texts if "†" in t.get_text()]
        assert len(marked) == 1, kind
        assert any("† the GPU was throttled" in text.get_text() for text in figure.texts), kind
