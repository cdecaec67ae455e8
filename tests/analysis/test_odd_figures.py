"""Figures of rows that are few, failed, without intervals, or of variants that nobody knows."""

import itertools
import re

import pytest
from matplotlib.text import Text

from analysis import figures, palette
from analysis.figures.curves import draw_throughput, draw_time
from analysis.figures.heatmap import draw_speedup
from analysis.figures.overview import draw_overview
from analysis.figures.page import DOUBLE, FINE, SINGLE, TITLE, Page, text_width
from analysis.figures.save import PNG_DPI
from analysis.figures.select import select
from tests.analysis import synthetic

SET = ("h200", "float32", "mine")
NONE = dict.fromkeys(["time_us_q20", "time_us_q80", "speedup_low", "speedup_high"], "")
MINE = [f"my_kernel_{i}" for i in range(20)]


@pytest.fixture
def drawn(measurements, tables):
    """Function that draws all kinds of figures of some rows: kind -> figure."""

    def draw(rows):
        frame = measurements(rows, sweep=SET[2])
        chosen = select(frame, tables, *SET)
        kinds = {"time": draw_time, "throughput": draw_throughput, "speedup": draw_speedup}
        found = {kind: draw(chosen) for kind, draw in kinds.items()}
        return found | {"overview": draw_overview(frame, tables)}

    return draw


def lines(figure):
    return {line.get_gid(): line for axes in figure.axes for line in axes.lines}


def extent(text):
    """The box of the words alone, without the line that leads to them."""
    return Text.get_window_extent(text)


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
    assert [text.get_text() for text in panel.texts] == ["triton_row"]


def test_no_row_that_is_ok(drawn):
    found = drawn([synthetic.row(variant=name, status="crash") for name in synthetic.VARIANTS])
    for kind in ("time", "throughput", "overview"):
        assert not found[kind].axes
        assert any("10 crash" in text.get_text() for text in found[kind].texts)
    cells, _ = found["speedup"].axes
    assert [text.get_text() for text in cells.texts] == ["crash"] * 10
    assert not cells.patches  # no frame around a fastest one


def test_rows_without_quantiles_and_intervals(drawn):
    found = drawn(synthetic.sweep_rows([256, 512], **NONE))
    for kind in ("time", "throughput", "overview"):
        assert not any(axes.collections for axes in found[kind].axes)
        assert not any("bands: 0.2" in text.get_text() for text in found["time"].texts)
    cells, _ = found["speedup"].axes
    assert "±" not in "".join(text.get_text() for text in cells.texts)
    assert not any("±" in text.get_text() for text in found["speedup"].texts)


def test_some_rows_without_quantiles(drawn):
    rows = synthetic.sweep_rows([256], **NONE) + synthetic.sweep_rows([512, 1024])
    (axes,) = drawn(rows)["time"].axes
    assert len(axes.collections) == len(synthetic.VARIANTS)


def test_thirty_variants_are_told_apart(drawn):
    variants = [*synthetic.VARIANTS, *MINE]
    found = drawn(synthetic.sweep_rows(variants=variants))
    for kind in ("time", "throughput"):
        shown = lines(found[kind])
        assert len({(shown[n].get_color(), shown[n].get_marker()) for n in variants}) == 30
        (axes,) = found[kind].axes
        found[kind].set_dpi(PNG_DPI)
        found[kind].draw_without_rendering()
        boxes = sorted((extent(text) for text in axes.texts), key=lambda box: box.y0)
        assert len(boxes) == 31
        overlaps = [a.y1 - b.y0 for a, b in itertools.pairwise(boxes)]
        assert max(overlaps) < 1  # pixel
    cells, _ = found["speedup"].axes
    assert len(cells.get_yticklabels()) == 30


@pytest.mark.parametrize(("half", "line"), [(0.01, "-"), (0.3, "--")])
def test_the_fastest_of_each_size_is_framed(drawn, half, line):
    """Dashed where its lead may be chance."""
    speeds = {256: ("triton_row", "triton_fused"), 512: ("triton_fused", "triton_row")}
    rows = [
        synthetic.with_speedup(value, half, variant=name, N=n)
        for n, names in speeds.items()
        for name, value in zip(names, (1.5, 1.2), strict=True)
    ]
    cells, _ = drawn(rows)["speedup"].axes
    assert {patch.get_gid(): patch.get_linestyle() for patch in cells.patches} == {
        "fastest triton_row 256": line,
        "fastest triton_fused 512": line,
    }


@pytest.mark.parametrize("name", ["x", "a_kernel_with_a_name_that_is_very_long_indeed_v2"])
def test_all_that_is_written_is_on_the_page(drawn, name):
    for kind, figure in drawn(synthetic.sweep_rows(variants=["torch_softmax", name])).items():
        figure.set_dpi(PNG_DPI)
        figure.draw_without_rendering()
        texts = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
        texts += [text for axes in figure.axes for text in axes.get_yticklabels()]
        texts += [axes.yaxis.label for axes in figure.axes]
        page = figure.bbox
        for box in (extent(text) for text in texts if text.get_text()):
            assert page.x0 <= box.x0 <= box.x1 <= page.x1 + 1, kind
            assert page.y0 <= box.y0 <= box.y1 <= page.y1 + 1, kind


def test_a_title_wider_than_its_panel_leaves_the_operation_to_the_heading(drawn):
    shapes = [(1024, n) for n in (256, 1024)] + [(3 * 2**25 // n, n) for n in (128, 1024, 4096)]
    op, names = "log_softmax_backward", ["torch_softmax", "triton_backward"]
    rows = [synthetic.row(op=op, M=m, N=n, variant=name) for m, n in shapes for name in names]
    figure = drawn(rows)["throughput"]
    figure.set_dpi(PNG_DPI)
    figure.draw_without_rendering()
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [f"{op}, M = 1024, uniform input", "M·N = 100,663,296, uniform input"]
    for text in figure.findobj(lambda artist: isinstance(artist, Text)):
        if text.get_text() in titles:
            assert extent(text).x1 <= figure.bbox.x1
    assert op in figure.get_suptitle()


def test_few_lines_fit_into_one_column_and_many_into_two(drawn):
    few = drawn(synthetic.sweep_rows([256, 512], ["torch_softmax", "triton_row"]))
    many = drawn(synthetic.sweep_rows())
    assert few["time"].get_figwidth() == pytest.approx(SINGLE)
    assert many["time"].get_figwidth() == pytest.approx(DOUBLE)
    assert few["overview"].get_figwidth() == many["overview"].get_figwidth() == DOUBLE


def test_the_fastest_and_torch_are_bold(drawn):
    figure = drawn(synthetic.sweep_rows())["time"]
    bold = {t.get_text() for t in figure.axes[0].texts if t.get_fontweight() == "bold"}
    assert bold == {"torch_softmax", "triton_persistent"}
    widths = {gid: line.get_linewidth() for gid, line in lines(figure).items()}
    assert widths["triton_persistent"] > widths["triton_row"]


def test_heading_and_fine_print_are_broken_where_the_page_ends():
    page = Page(SINGLE, 1.0, "one two three " * 10, ["four five six " * 20, "seven"])
    title, fine = (text.get_text().split("\n") for text in page.figure.texts)
    assert " ".join(title).split() == ["one", "two", "three"] * 10
    assert fine[-1] == "seven"
    assert max(text_width(line, TITLE, bold=True) for line in title) < SINGLE
    assert max(text_width(line, FINE) for line in fine) < SINGLE
    assert page.figure.get_figheight() > 1 + len(title) * TITLE / 72 + len(fine) * FINE / 72


def test_vector_files_have_letters_and_fonts(measurements, tables, tmp_path):
    frame = measurements(synthetic.sweep_rows([256, 512]), sweep=SET[2])
    svg, pdf, _ = figures.write(frame, tables, *SET, tmp_path, ("throughput",))
    assert "copy (roofline)</text>" in svg.read_text()
    assert "'DejaVu Sans', 'Verdana'" in svg.read_text()  # the latter where the former is not
    assert re.search(rb"/Subtype /(CIDFontType2|TrueType)", pdf.read_bytes())
    assert b"/FontFile2" in pdf.read_bytes()
    assert b"/CreationDate" not in pdf.read_bytes()


def test_looks_are_those_of_all_variants_of_the_measurements(measurements, tables):
    """So a name looks the same in every figure, even where two names would meet in one style."""
    names = [f"k{i}" for i in range(40)]
    alone = [name for name in names if palette.styles(names)[name] != palette.style(name)]
    assert alone  # else this tests nothing
    rows = synthetic.sweep_rows([256], names)
    rows += [row | {"dtype": "float16"} for row in synthetic.sweep_rows([256], alone[:1])]
    frame = measurements(rows, sweep=SET[2])
    looks = set()
    for dtype in ("float32", "float16"):
        line = lines(draw_time(select(frame, tables, "h200", dtype, SET[2])))[alone[0]]
        looks.add((line.get_color(), line.get_marker()))
    assert len(looks) == 1
