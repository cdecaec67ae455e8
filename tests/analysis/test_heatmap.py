"""Heat maps: of speeds over torch, and of who wins where."""

import math

import numpy as np
from matplotlib.colors import to_hex

from analysis.figures import heatmap, style
from analysis.figures.panels import CONTROL, select
from tests.analysis import synthetic
from tests.analysis.synthetic import ranked
from tests.analysis.test_figures import beside_torch, texts, title


def cells(axes):
    return [text.get_text() for text in axes.texts]


def test_the_heat_map_tells_failed_not_measured_and_equal_apart(chosen):
    rows = [beside_torch(N=n) for n in (256, 512)]
    rows += [synthetic.with_speedup(1.0, variant="triton_fused", N=256)]
    rows += [synthetic.row(variant="triton_fused", N=512, status="compile_error")]
    rows += [synthetic.with_speedup(0.25, variant="triton_tiled", N=256, flags="throttled")]
    figure = heatmap.draw_speedup(chosen(rows))
    axes = figure.axes[0]
    assert cells(axes) == ["1.00", "1.00", "1.00", "0.25†", "2.00", "2.00", "compile"]
    bold = [text.get_text() for text in axes.texts if text.get_fontweight() == "bold"]
    assert bold == ["2.00"], "of two kernels, as at the second size, one is always the best"
    times, failed = (mesh.get_array() for mesh in axes.collections[:2])
    assert (times.count(), failed.count()) == (6, 1)  # one of 8 was not measured
    colours = axes.collections[0].to_rgba([1.0, 2.0])
    white = np.array([1.0, 1.0, 1.0])
    assert all(np.abs(colour[:3] - white).max() > 0.1 for colour in colours)


def test_a_heat_map_of_thousands_of_cells_is_one_picture_without_numbers(chosen):
    rows = synthetic.sweep_rows([16 * n for n in range(1, 301)])
    axes = heatmap.draw_speedup(chosen(rows)).axes[0]
    assert len(rows) > heatmap.FEW_CELLS
    assert axes.collections[0].get_rasterized()
    assert not cells(axes)
    assert len(axes.get_xticklabels()) <= heatmap.LABELS


def test_the_colours_reach_as_far_as_most_values_need(chosen):
    for speeds, widest in (([0.5, 2.0, 9.0], heatmap.WIDE), ([2.0, 9.0, 12.0], 16.0)):
        rows = [synthetic.with_speedup(s, variant="a", N=2**i) for i, s in enumerate(speeds, 8)]
        mesh = heatmap.draw_speedup(chosen(rows)).axes[0].collections[0]
        assert mesh.norm.vmax == 1 / mesh.norm.vmin == widest
        assert mesh.colorbar.ax.get_ylim() == (min(1.0, speeds[0]), widest)


def test_the_heat_map_names_m_and_n_where_no_rule_gives_m(chosen):
    shapes = (786432, 128), (2**17, 768), (96, 1000)
    axes = heatmap.draw_speedup(chosen([synthetic.row(M=m, N=n) for m, n in shapes])).axes[0]
    labels = axes.get_xticklabels()
    names = [tick.get_text().replace(f" {style.TIMES} ", "x") for tick in labels]
    assert names == ["96x1000", "131072x768", "786432x128"]
    assert {tick.get_rotation() for tick in labels} == {0}


def test_the_heat_map_says_that_rows_are_of_older_code(chosen):
    selection = chosen([beside_torch(N=n) for n in (256, 512)])
    for stale, words in ((["true", "true"], "; rows of older code"), (["true", "false"], "; some")):
        own = selection.own[selection.own["flags"] != CONTROL].assign(stale=stale)
        figure = heatmap.draw_speedup(selection._replace(rows=own))
        assert words in texts(figure)
    assert "older" not in texts(heatmap.draw_speedup(selection))


def test_numbers_have_three_digits():
    numbers = [heatmap._number(ratio) for ratio in (0.5, 9.994, 14.96, 99.96, math.nan)]
    assert numbers == ["0.50", "9.99", "15.0", "100", ""]


def test_the_grid_has_the_winner_of_a_cell_and_its_lead_and_shows_where_there_is_none(tables):
    """Ties are grey, and cells where torch was the only rival are hatched, as on the page."""
    rows = synthetic.with_speedups({"a": 1.5, "b": 1.2}, [256, 300, 400])  # one cell
    rows += synthetic.with_speedups({"a": 1.5, "b": 1.65}, [2048])
    rows += synthetic.with_speedups({"a": 1.5, "b": 1.5}, [16384])
    rows += synthetic.with_speedups({"a": 1.5}, [65536])  # beside torch alone
    chosen = select(ranked(rows), tables, "h200")
    figure = heatmap.draw_grid(chosen)
    axes = figure.axes[0]
    assert cells(axes) == ["1.25", "1.10", "tie", ""]
    expected = {"a": chosen.styles["a"].colour, "b": chosen.styles["b"].colour}
    expected |= {heatmap.TIE: heatmap.TIED, heatmap.ALONE: to_hex("white")}
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    colours = [to_hex(patch.get_facecolor()) for patch in axes.get_legend().get_patches()]
    assert dict(zip(names, colours, strict=True)) == {n: c.lower() for n, c in expected.items()}
    (mesh,) = axes.collections
    drawn = [to_hex(mesh.to_rgba(code)) for code in mesh.get_array().compressed()]
    assert drawn == [colour.lower() for colour in expected.values()]
    (hatched,) = axes.patches
    assert (hatched.get_xy(), hatched.get_hatch()) == ((3, 0), heatmap.HATCHED["hatch"])
    assert title(figure) == "a is fastest or tied at 4 of 5 sizes"


def test_without_a_rival_no_grid_is_drawn(tables):
    rows = synthetic.with_speedups({"a": 0.5}, [256, 4096])
    figure = heatmap.draw_grid(select(ranked(rows), tables, "h200"))
    assert title(figure) == "Who wins where: no two kernels were timed at one size"
