"""How M goes with N, in words; and figures of rows that are few, failed, or without intervals."""

import pandas as pd
import pytest

from analysis import panels
from analysis.figures.curves import draw_throughput, draw_time
from analysis.figures.heatmap import draw_speedup
from analysis.figures.overview import draw_overview
from analysis.panels import select
from tests.analysis import oneflow_rows as oneflow
from tests.analysis import synthetic


def frame(m_of_n):
    return pd.DataFrame([{"M": m, "N": n} for n, m in m_of_n.items()])


@pytest.mark.parametrize(
    ("m_of_n", "words"),
    [
        ({256: 1024, 512: 1024}, "M = 1024"),
        ({16: 32768, 512: 1048576}, "M = 2048·N"),
        ({128: 1024, 256: 512, 512: 256}, "M·N = 131,072"),
        (oneflow.WIDE, "M·N ≈ 100,663,296"),
        ({128: 1024, 256: 900}, "M = 900 to 1,024"),
        ({12160: 4096}, "M = 4096"),
    ],
)
def test_the_rule_behind_m(m_of_n, words):
    assert panels.describe_m(frame(m_of_n)) == words


@pytest.fixture(scope="module")
def wide(ranked, tables):
    rows = ranked(oneflow.rows(oneflow.WIDE), sweep="oneflow_wide")
    return select(rows, tables, "h200", "float32", "oneflow_wide")


def test_the_heat_map_names_the_m_of_each_column(wide):
    cells, _ = draw_speedup(wide).axes  # one band and the colour bar
    labels = [label.get_text() for label in cells.get_xticklabels()]
    assert labels[:3] == ["128\n786432", "768\n131072", "1000\n100663"]
    assert cells.get_xlabel() == "N (columns), and below it M (rows)"
    assert len(cells.texts) == len(oneflow.WIDE) * len(oneflow.VARIANTS)


def test_sizes_of_their_own_m_are_one_part_and_the_others_go_by_m():
    """As a sweep that holds the bytes, beside one that holds M; 4 by 4096 is of both."""
    constant = [(16384 // n, n) for n in (16, 100, 512, 4096)]
    held = [(m, n) for m in (1, 4) for n in (4096, 8192)]
    rows = pd.DataFrame(sorted({*constant, *held}), columns=["M", "N"])
    found = [list(part.itertuples(index=False, name=None)) for part in panels.split_by_m(rows)]
    assert found == [held[:2], held[2:], sorted(constant)]


def test_several_m_of_several_sizes_are_parts_though_each_n_has_one_m():
    """As in a sweep of short and of long rows, each with another M."""
    m_of_n = {256: 1024, 1024: 16384, 4096: 1024, 16384: 16384, 65536: 1024}
    parts = panels.split_by_m(frame(m_of_n))
    assert [panels.describe_m(part) for part in parts] == ["M = 1024", "M = 16384"]
    assert [part["N"].tolist() for part in parts] == [[256, 4096, 65536], [1024, 16384]]


@pytest.mark.parametrize("m_of_n", [oneflow.WIDE, {128: 1024, 256: 900}, {256: 900, 512: 900}])
def test_sizes_of_one_m_each_or_of_one_m_are_one_part(m_of_n):
    (part,) = panels.split_by_m(frame(m_of_n))
    assert part["N"].tolist() == list(m_of_n)


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
