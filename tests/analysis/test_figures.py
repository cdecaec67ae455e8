"""Figures and their files, also of rows that are few, failed, flagged, or published."""

import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from analysis import InputError, compare, palette
from analysis.figures import heatmap, lines, write
from analysis.figures.controls import with_controls
from analysis.panels import select
from tests.analysis import oneflow_rows as oneflow
from tests.analysis import synthetic

SET = ("float32", "online_softmax")
PAIR = ("cuda_oneflow", "cuda_fastertransformer")


@pytest.fixture(scope="module")
def own(ranked, online_rows, tables):
    """The H200's own rows, one of them failed."""
    failed = synthetic.row(variant="triton_fused", N=131072, status="compile_error")
    rows = [r for r in online_rows if (r["variant"], r["N"]) != ("triton_fused", "131072")]
    return select(ranked([*rows, failed]), tables, "h200", *SET)


@pytest.fixture
def drawn(ranked, tables):
    """Function that draws the figures of some rows: kind -> figure."""

    def draw(rows, sweep="online_softmax"):
        frame = with_controls(ranked(rows, sweep=sweep))
        chosen = select(frame, tables, "h200", "float32", sweep)
        found = {"time": draw_time(chosen), "speedup": heatmap.draw_speedup(chosen)}
        found["throughput"] = lines.draw_over_n(chosen, "throughput_gbps")
        return found | {"map": heatmap.draw_map(frame, tables, "h200")}

    return draw


def draw_time(chosen):
    return lines.draw_over_n(chosen, "time_us")


def drawn_lines(figure, panel=0):
    return {line.get_gid(): line for line in figure.axes[panel].lines if line.get_gid()}


def cells(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def words(figure):
    return f"{figure._suptitle.get_text()}\n{figure._supxlabel.get_text()}".replace("\n", " ")


def test_time_has_a_line_bars_and_a_label_for_each_variant_and_a_footer(own):
    figure = draw_time(own)
    (axes,) = figure.axes
    found = drawn_lines(figure)
    assert set(found) == {*synthetic.VARIANTS, "copy"}
    assert {text.get_text() for text in axes.texts} == {*synthetic.VARIANTS, "copy (roofline)"}
    assert (axes.get_xlabel(), axes.get_xscale()) == ("N (columns)", "log")
    assert (axes.get_ylabel(), axes.get_yscale()) == ("time (µs)", "log")
    assert [label.get_text() for label in axes.get_xticklabels()][:2] == ["2⁸", "2⁹"]
    expected = [synthetic.time_us("triton_online", 1024, n, 4) for n in synthetic.ONLINE_SIZES]
    assert found["triton_online"].get_ydata() == pytest.approx(expected)
    assert found["triton_online"].get_color() == palette.KNOWN["triton_online"].colour
    assert max(found["triton_fused"].get_xdata()) == 65536
    versions = ("GPU-1", "570.124", "torch 2.11.0", "triton 3.6.0")
    assert all(part in words(figure) for part in ("NVIDIA H200", *versions, "1 compile_error"))
    bars = {bar.get_gid(): bar.get_segments() for bar in axes.collections}
    assert set(bars) == {f"{name} bar" for name in synthetic.VARIANTS}
    ends = bars["triton_row bar"][0][:, 1]
    within = 1.003 / 0.997  # the interval of one process; the bar has the spread between processes
    assert max(ends) / min(ends) > 1.003 * within


def test_published_lines_are_hollow_and_have_the_data_sheet_as_roofline(ranked, tables):
    chosen = select(ranked([]), tables, "a100", *SET)
    for value in ("throughput_gbps", "time_us"):
        figure = lines.draw_over_n(chosen, value)
        found = drawn_lines(figure)
        assert set(found) == {"torch_softmax", *synthetic.TRITON[:5], "peak"}
        assert all(part in words(figure) for part in ("published, not measured", "wu-kan"))
        assert not any(len(end) for bar in figure.axes[0].collections for end in bar.get_segments())
    assert found["triton_online"].get_ydata()[-1] == pytest.approx(1159.837)
    assert found["triton_online"].get_markerfacecolor() == "white"
    assert found["peak"].get_ydata()[-1] == pytest.approx(2 * 1024 * 131072 * 4 / 1555 / 1000)


def test_sizes_without_a_rule_for_m_are_points_over_their_elements(drawn):
    """As random shapes: a line would join what has nothing in common, and no size is left out."""
    shapes = [(96, 7000), (3000, 17), (96, 50), (11, 900), (5, 60000), (700, 17)]
    rows = [synthetic.row(M=m, N=n, variant=v) for m, n in shapes for v in synthetic.VARIANTS[:2]]
    found = drawn(rows)
    line = drawn_lines(found["time"])["torch_naive"]
    assert (sorted(line.get_xdata()), line.get_ls()) == (sorted(m * n for m, n in shapes), "None")
    assert found["time"].axes[0].get_xlabel() == "M·N (elements)"
    assert len(cells(found["speedup"])) == len(rows)


def test_the_heat_map_has_numbers_statuses_and_colours_apart_up_to_100(own, drawn):
    shown = cells(heatmap.draw_speedup(own))
    assert len(shown) == len(synthetic.VARIANTS) * len(synthetic.ONLINE_SIZES)
    assert "1.00" in shown  # torch, by pairing
    assert shown.count("compile\nerror") == 1
    speeds = dict(zip((1, 2, 4, 8, 16), (0.011, 1.0, 1.2, 30.0, 99.0), strict=True))
    rows = [synthetic.with_speedup(v, 0.001, variant="triton_row", N=n) for n, v in speeds.items()]
    mesh = drawn(rows)["speedup"].axes[0].collections[0]
    colours = mesh.to_rgba(np.log([*speeds.values(), 1.1]))[:, :3]
    apart = [np.abs(a - b).max() for i, a in enumerate(colours) for b in colours[:i]]
    assert min(apart) > 0.04


def test_the_heat_map_folds_many_sizes_into_bands_and_names_the_m_of_each_column(drawn):
    rows = synthetic.sweep_rows([100 * n for n in range(1, 61)], synthetic.VARIANTS[:3])
    *bands, _ = drawn(rows)["speedup"].axes
    assert len(bands) == math.ceil(60 / heatmap.COLUMNS)
    assert sum(len(axes.texts) for axes in bands) == len(rows)
    axes = drawn(oneflow.rows(oneflow.WIDE), "oneflow_wide")["speedup"].axes[0]
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels[:3] == ["2⁷\n786432", "768\n2¹⁷", "1000\n100663"]
    assert axes.get_xlabel() == "N (columns), and below it M (rows)"


@pytest.mark.parametrize("half", [0.01, 0.3])
def test_the_best_set_of_each_size_is_framed_and_the_map_names_it(drawn, half):
    """Dashed where it has several variants, which is a tie in the map."""
    speeds = {256: ("triton_row", "triton_fused"), 512: ("triton_fused", "triton_row")}
    rows = [
        synthetic.with_speedup(value, half, variant=name, N=n, of_copy=value / 2)
        for n, names in speeds.items()
        for name, value in zip(names, (1.5, 1.2), strict=True)
    ]
    found = drawn(rows)
    frames = [patch.get_linestyle() for patch in found["speedup"].axes[0].patches]
    assert frames == (["-"] * 2 if half < 0.1 else ["--"] * 4)
    assert cells(found["map"]) == (["75"] * 2 if half < 0.1 else ["75="] * 2)
    colours = [to_hex(patch.get_facecolor()).upper() for patch in found["map"].axes[0].patches]
    assert colours == [palette.KNOWN[names[0]].colour for names in speeds.values()]
    legend = found["map"].axes[0].get_legend()
    assert [text.get_text() for text in legend.texts] == ["triton_fused", "triton_row"]


def test_a_cell_of_the_map_has_the_least_share_and_says_that_other_kernels_are_fastest(drawn):
    of_copy = {260: 0.5, 300: 0.9, 400: 0.7}
    rows = [
        synthetic.with_speedup(1.5 if (n == 400) == (v == "a") else 1.0, variant=v, N=n, of_copy=c)
        for n, c in of_copy.items()
        for v in "ab"
    ]
    assert cells(drawn(rows)["map"]) == ["50+"]


def test_one_row(drawn):
    found = drawn([synthetic.row(variant="triton_row")])
    for kind in ("time", "throughput"):
        shown, (axes,) = drawn_lines(found[kind]), found[kind].axes
        assert set(shown) == {"triton_row", "torch_softmax", "copy"}
        assert shown["copy"].get_marker() == "_"  # a line through one size has no length
        (point,) = axes.transData.transform(shown["triton_row"].get_xydata())
        assert axes.get_window_extent().contains(*point)
    (cell,) = found["map"].axes[0].patches
    assert min(cell.get_facecolor()) > 0.7  # pale: no other kernel competes


def test_no_row_that_is_ok(drawn):
    found = drawn([synthetic.row(variant=name, status="crash") for name in synthetic.VARIANTS])
    assert cells(found.pop("speedup")) == ["crash"] * 10
    for figure in found.values():
        assert not figure.axes
        assert all(part in words(figure) for part in ("no timed rows", "10 crash"))


def test_a_throttled_time_and_one_of_another_board_have_marks_and_legends(drawn):
    rows = [synthetic.row(N=n, flags="throttled" if n == 256 else "") for n in (256, 512)]
    rows += [synthetic.row(N=256, variant=v) for v in ("triton_row", "torch_softmax")]
    rows += [synthetic.row(N=256, variant="triton_fused", gpu_uuid="GPU-2")]
    found = drawn(rows)
    for figure in found.values():
        assert all(note in words(figure) for note in ("† the GPU was thr", "° 1 row of another"))
    (sign,) = [t for t in found["time"].axes[0].texts if t.get_gid() == "triton_online †"]
    assert (sign.xy[0], sign.get_text()) == (256, "†")
    assert "triton_fused" in drawn_lines(found["time"])
    shown = "".join(cells(found["speedup"]))
    assert (shown.count("°"), shown.count("†")) == (1, 1)


def test_published_stands_beside_measured_with_the_ratios_of_both(ranked, tables):
    rows = ranked(oneflow.rows(oneflow.PROTOCOL | {256: 2048 * 256}), sweep="oneflow")
    chosen = select(rows, tables, "h200", "float32", "oneflow")
    sources = [each for each in tables.sources.values() if each.sweep == "oneflow"]
    figure = lines.draw_published(chosen, tables.rows, sources)
    ratios = drawn_lines(figure)
    assert set(ratios) == {*PAIR, *(f"{name} (published)" for name in PAIR)}
    assert ratios["cuda_oneflow"].get_xdata().tolist() == list(oneflow.PROTOCOL)  # as published
    expected = oneflow.speedup(oneflow.WARP, 512) / 0.4
    assert ratios["cuda_oneflow"].get_ydata()[-1] == pytest.approx(expected, rel=0.05)
    assert ratios["cuda_oneflow (published)"].get_ydata()[0] == pytest.approx(26.4 / 9.66, rel=0.01)


def test_gpus_stand_side_by_side_with_one_axis(ranked, online_rows, tables):
    rows = ranked(online_rows)
    figure = lines.draw_gpus([select(rows, tables, gpu, *SET) for gpu in ("a100", "h200")])
    titles = [axes.get_title(loc="left").split("\n")[0] for axes in figure.axes]
    assert titles == ["NVIDIA A100-PCIE-40GB (published)", "NVIDIA H200 (measured)"]
    fastest = max(drawn_lines(figure, 1)["copy"].get_ydata())
    assert figure.axes[0].get_ylim()[1] == figure.axes[1].get_ylim()[1] > fastest


def test_the_hero_shows_the_m_with_the_most_of_its_kernels_and_counts_what_is_wrong(ranked):
    wrong = synthetic.row(variant="peer_quack", N=512, status="incorrect")
    rows = [synthetic.row(variant=name, N=n) for name in lines.HERO for n in (256, 1024)]
    rows += [synthetic.row(variant="frontier", M=8, N=n) for n in range(1, 9)]
    figure = lines.draw_hero(ranked([*rows, wrong]))
    assert set(drawn_lines(figure)) == {*lines.HERO, "copy"}
    assert all(part in words(figure) for part in ("M = 1024", "1 incorrect"))
    assert not lines.draw_hero(ranked([synthetic.row(gpu="cpu", variant="frontier")])).axes


def test_changes_of_a_comparison_are_cells_with_signs():
    names = ["gpu", "op", "dtype", "distribution", "M", "N", "variant"]
    ratios = {"a": (0.5, compare.SLOWER), "b": (1.02, compare.SAME), "c": (math.nan, compare.BROKE)}
    index = [["h200"], ["softmax"], ["float32"], ["normal"], [4], [8], ratios]
    index = pd.MultiIndex.from_product(index, names=names)
    changes = pd.DataFrame([*ratios.values()], index, ["ratio", "change"])
    changes = changes.assign(low=changes["ratio"] * 0.95, high=changes["ratio"] * 1.05)
    figure = heatmap.draw_changes(changes, compare.Limits())
    assert cells(figure) == ["0.50▼\n±5%", "1.02\n±5%", "broke"]
    assert [patch.get_linestyle() for patch in figure.axes[0].patches] == ["-", "-"]
    assert "1 broke, 1 slower, 1 same of 3 points" in words(figure)


def test_the_files_of_a_gpu_are_the_same_twice(measurements, tables, tmp_path):
    rows = oneflow.rows(oneflow.PROTOCOL, ["torch_softmax", *PAIR])
    frame = measurements([*rows, *(r | {"gpu": "cpu"} for r in rows)], "oneflow")
    first = write.write_gpu(frame, tables, "h200", tmp_path / "a")
    second = write.write_gpu(frame, tables, "h200", tmp_path / "b")
    kinds = ("time", "throughput", "speedup", "published")
    expected = {"map", *(f"float32_oneflow_{kind}" for kind in kinds)}
    assert {path.stem for path in first} == expected
    assert sorted((tmp_path / "a/h200").iterdir()) == sorted(first)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert {path.read_bytes()[:5] for path in first} == {b"\x89PNG\r", b"<?xml"}
    # text stays text
    assert "cuda_oneflow</text>" in (tmp_path / "a/h200/float32_oneflow_time.svg").read_text()
    # times of a CPU stand beside no GPU's, and a table without torch has no speed-up
    cpu = write.write_gpu(frame, tables, "cpu", tmp_path)
    assert {path.stem for path in cpu} == expected - {"float32_oneflow_published"}
    shared = write.write_shared(frame, tables, tmp_path)
    assert {path.stem for path in shared} == {"hero", "gpus_float32_oneflow"}
    with pytest.raises(InputError, match="no rows of gpu h100; there are rows of: a100, cpu, h200"):
        write.write_gpu(frame, tables, "h100", tmp_path)
