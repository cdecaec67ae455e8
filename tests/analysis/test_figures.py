"""Lines, heat maps and their files, also of rows that are few, failed, or without intervals."""

import re

import pytest

from analysis import palette
from analysis.figures import write
from analysis.figures.curves import draw_throughput, draw_time
from analysis.figures.heatmap import draw_speedup
from analysis.figures.overview import draw_overview
from analysis.panels import select
from tests.analysis import oneflow_rows as oneflow
from tests.analysis import synthetic

SET = ("float32", "online_softmax")
A100_VARIANTS = ["torch_softmax", *synthetic.TRITON[:5]]


@pytest.fixture(scope="module")
def own(ranked, online_rows, tables):
    """The H200's own rows, one of them failed."""
    failed = synthetic.row(variant="triton_fused", N=131072, status="compile_error")
    rows = [r for r in online_rows if (r["variant"], r["N"]) != ("triton_fused", "131072")]
    return select(ranked([*rows, failed]), tables, "h200", *SET)


@pytest.fixture(scope="module")
def a100(ranked, tables):
    """Only the published table."""
    return select(ranked([]), tables, "a100", *SET)


def lines(figure):
    return {line.get_gid(): line for axes in figure.axes for line in axes.lines}


def bands(axes):
    """The gids of the bands from the 0.2 to the 0.8 quantile."""
    return {band.get_gid() for band in axes.collections}


def words(figure):
    texts = list(figure.texts) + [text for axes in figure.axes for text in axes.texts]
    return [figure._suptitle.get_text(), *(text.get_text() for text in texts)]


def test_time_has_one_line_for_each_variant(own):
    figure = draw_time(own)
    drawn = lines(figure)
    assert set(drawn) == {*synthetic.VARIANTS, "copy"}
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("N (columns)", "time (µs)")
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in axes.get_xticklabels()][:2] == ["2⁸", "2⁹"]
    assert bands(axes) == {f"{name} band" for name in synthetic.VARIANTS}
    expected = [synthetic.time_us("triton_online", 1024, n, 4) for n in synthetic.ONLINE_SIZES]
    assert drawn["triton_online"].get_ydata() == pytest.approx(expected)
    assert drawn["triton_online"].get_color() == palette.style("triton_online").colour
    (footer,) = [text for text in words(figure) if "driver" in text]
    for part in ("NVIDIA H200", "float32", "M = 1024", "570.124", "2.11.0", "triton 3.6.0"):
        assert part in footer


def test_a_failed_point_is_left_out_of_its_line_and_named(own):
    figure = draw_time(own)
    assert max(lines(figure)["triton_fused"].get_xdata()) == 65536
    assert any("1 compile_error" in text for text in words(figure))


def test_a100_is_drawn_from_the_published_table(a100):
    for draw in (draw_time, draw_throughput):
        figure = draw(a100)
        drawn = lines(figure)
        assert set(drawn) == {*A100_VARIANTS, "peak"}
        assert not bands(figure.axes[0])
        assert any("published, not measured here" in text for text in words(figure))
        assert any("wu-kan" in text for text in words(figure))
    drawn = lines(draw_time(a100))
    assert drawn["triton_online"].get_ydata()[-1] == pytest.approx(1159.837)
    assert drawn["triton_online"].get_markerfacecolor() == "white"
    assert drawn["peak"].get_ydata()[-1] == pytest.approx(2 * 1024 * 131072 * 4 / 1555 / 1000)


def test_heat_map_shows_value_half_width_and_status(own):
    figure = draw_speedup(own)
    cells = figure.axes[0]
    names = [label.get_text() for label in cells.get_yticklabels()]
    assert names == list(synthetic.VARIANTS)
    shown = [text.get_text() for text in cells.texts]
    assert len(shown) == len(synthetic.VARIANTS) * len(synthetic.ONLINE_SIZES)
    assert "1.00" in shown  # torch, by pairing
    assert sum("\n±" in text for text in shown) == len(shown) - len(synthetic.ONLINE_SIZES) - 1
    assert shown.count("compile\nerror") == 1
    mesh = cells.collections[0]
    assert mesh.norm.vmin == -mesh.norm.vmax  # log scale, centred at a speed-up of 1


def test_files_are_written_whole_and_the_same_twice(measurements, tables, tmp_path):
    frame = measurements(synthetic.sweep_rows([256, 512], ["torch_softmax", "triton_online"]))
    kinds = ("time", "speedup")  # lines and a heat map
    first = write.write(frame, tables, "h200", *SET, tmp_path / "a", kinds)
    second = write.write(frame, tables, "h200", *SET, tmp_path / "b", kinds)
    assert sorted(path.name for path in first) == sorted(
        f"h200_float32_online_softmax_{kind}.{suffix}"
        for kind in kinds
        for suffix in ("svg", "pdf", "png")
    )
    assert sorted((tmp_path / "a").iterdir()) == sorted(first)
    for one, other in zip(first, second, strict=True):
        content = one.read_bytes()
        assert content == other.read_bytes()
        assert len(content) > 5000
        assert content.startswith({".png": b"\x89PNG", ".pdf": b"%PDF"}.get(one.suffix, b"<?xml"))
    svg = next(path for path in first if path.name.endswith("time.svg")).read_text()
    assert "triton_online</text>" in svg  # text stays text
    pdf = next(path for path in first if path.suffix == ".pdf").read_bytes()
    assert re.search(rb"/Subtype /(CIDFontType2|TrueType)", pdf)
    assert b"/FontFile2" in pdf


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


@pytest.fixture
def drawn(ranked, tables):
    """Function that draws all kinds of figures of some rows: kind -> figure."""

    def draw(rows):
        frame = ranked(rows)
        chosen = select(frame, tables, "h200", *SET)
        kinds = {"time": draw_time, "throughput": draw_throughput, "speedup": draw_speedup}
        found = {kind: draw(chosen) for kind, draw in kinds.items()}
        return found | {"overview": draw_overview(frame, tables)}

    return draw


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
