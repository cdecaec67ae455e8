"""Heat maps: of speeds over torch, of leads over the best rival, of changes between two runs."""

import math

import numpy as np
import pandas as pd

from analysis import compare
from analysis.figures import heatmap
from analysis.panels import select
from tests.analysis import synthetic
from tests.analysis.synthetic import ranked
from tests.analysis.test_figures import beside_torch, title


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
    assert [text.get_fontweight() for text in axes.texts] == ["normal"] * 4 + ["bold"] * 2 + [
        "normal"
    ]
    times, failed = (mesh.get_array() for mesh in axes.collections[:2])
    assert (times.count(), failed.count()) == (6, 1)  # one of 8 was not measured
    colours = axes.collections[0].to_rgba(np.log([1.0, 2.0]))
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
        assert mesh.norm.vmax == -mesh.norm.vmin == math.log(widest)


def test_the_heat_map_names_m_and_n_where_no_rule_gives_m(chosen):
    shapes = (786432, 128), (2**17, 768), (96, 1000)
    axes = heatmap.draw_speedup(chosen([synthetic.row(M=m, N=n) for m, n in shapes])).axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [
        "96x1000",
        "131072x768",
        "786432x128",
    ]


def test_the_grid_has_the_least_lead_hatches_torch_alone_and_leaves_the_rest_white(tables):
    rows = synthetic.with_speedups(
        {"a": 1.5, "b": 1.2}, [256, 300]
    )  # one cell, of which 1.10 is less
    rows += synthetic.with_speedups({"a": 1.32, "b": 1.2}, [400])
    rows += synthetic.with_speedups({"a": 1.5, "b": 1.65}, [2048])
    rows += synthetic.with_speedups({"a": 1.5}, [65536])  # beside torch alone
    rows += synthetic.with_speedups({"b": 0.8, "a": 0.5}, [2**20])  # torch is the best rival
    figure = heatmap.draw_grid(select(ranked(rows), tables, "h200"))
    axes = figure.axes[0]
    assert cells(axes) == ["1.10", "0.91", "0.50"]
    (hatched,) = axes.patches
    columns = [tick.get_text() for tick in axes.get_xticklabels()]
    assert columns[int(hatched.get_x())] == "2¹⁶"
    assert title(figure) == (
        "a leads or ties at 3 of 5 sizes with a rival; elsewhere it takes up to 2.0 times as long"
    )


def test_where_torch_is_the_fastest_everywhere_no_grid_is_drawn(tables):
    rows = synthetic.with_speedups({"a": 0.5, "b": 0.8}, [256, 4096])
    rows += synthetic.with_speedups({"torch_softmax": 1.0}, [256, 4096])
    figure = heatmap.draw_grid(select(ranked(rows), tables, "h200"))
    assert title(figure) == "Lead over torch: no kernel beats it at any size"


def test_changes_of_a_comparison_are_cells_with_signs():
    point = {"gpu": "h200", "op": "softmax", "dtype": "float32", "distribution": "normal"}
    changes = pd.DataFrame({"variant": list("abc"), "ratio": [0.5, 1.02, math.nan]})
    changes["change"] = [compare.SLOWER, compare.SAME, compare.BROKE]
    changes["failed"] = [True, False, True]
    changes = changes.assign(low=changes["ratio"] * 0.95, high=changes["ratio"] * 1.05)
    changes = changes.assign(M=4, N=8, **point).set_index([*point, "M", "N", "variant"])
    figure = heatmap.draw_changes(changes)
    assert cells(figure.axes[0]) == ["0.50▼", "1.02", "broke"]
    assert [text.get_fontweight() for text in figure.axes[0].texts][:2] == ["bold", "normal"]
    assert "1 broke, 1 slower, 1 same of 3 points" in title(figure)
