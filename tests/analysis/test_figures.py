"""Figures and their files, also of rows that are few, failed, flagged, or published."""

import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from analysis import compare, palette, ranking
from analysis.figures import heatmap, lines, style, write
from analysis.panels import CONTROL, select, with_controls
from tests.analysis import synthetic
from tests.analysis.synthetic import PAIR, frame_of, ranked

SET, TIME = ("float32", "online_softmax"), "time_us"


@pytest.fixture(scope="module")
def own(tables):
    """The H200's own rows, one of them failed."""
    failed = synthetic.row(variant="triton_fused", N=131072, status="compile_error")
    rows = [
        r for r in synthetic.sweep_rows() if (r["variant"], r["N"]) != ("triton_fused", "131072")
    ]
    return select(ranked([*rows, failed]), tables, "h200", *SET)


@pytest.fixture
def drawn(tables):
    """Function that draws the figures of some rows: kind -> figure."""

    def draw(rows, **given):
        frame = ranked(rows, **given)
        chosen = select(frame, tables, "h200", *SET)
        found = {each: lines.draw_over_n(chosen, each) for each in (TIME, "throughput_gbps")}
        found["map"] = heatmap.draw_map(select(frame, tables, "h200"))
        return found | {"speedup": heatmap.draw_speedup(chosen)}

    return draw


def beside_torch(**given):
    own = {"time_us": 10.0, "copy_us": 9.0, "of_copy": 0.9, "torch_us": 20.0}
    return synthetic.with_speedup(2.0, 0.1, **own | {"variant": "triton_row"} | given)


def drawn_lines(figure, panel=0):
    return {line.get_gid(): line for line in figure.axes[panel].lines if line.get_gid()}


def cells(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def frames(figure):
    patches = figure.axes[0].patches
    return [p.get_linestyle() for p in patches if to_hex(p.get_edgecolor()) == "#000000"]


def words(figure):
    return f"{figure._suptitle.get_text()}\n{figure._supxlabel.get_text()}".replace("\n", " ")


def test_time_has_a_line_bars_and_a_label_for_each_variant_and_a_footer(own):
    figure = lines.draw_over_n(own, TIME)
    (axes,), found = figure.axes, drawn_lines(figure)
    assert {text.get_text() for text in axes.texts} == {*synthetic.VARIANTS, "copy (roofline)"}
    assert (axes.get_xlabel(), axes.get_xscale()) == ("N (columns)", "log")
    assert (axes.get_ylabel(), axes.get_yscale()) == ("time (µs)", "log")
    assert {"2⁸", "2¹⁶"} <= {label.get_text() for label in axes.get_xticklabels()}
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


def test_few_long_rows_have_a_second_roofline(drawn):
    long = [beside_torch(M=4, N=n, meet_us=9.5, of_meet=0.95) for n in (2**17, 2**20)]
    figure = drawn([beside_torch(M=4, N=2**14), *long])[TIME]
    assert drawn_lines(figure)["meet"].get_xydata().tolist() == [[2**17, 9.5], [2**20, 9.5]]
    assert "read, meet, write" in cells(figure)
    assert "meet" not in drawn_lines(drawn([beside_torch()])[TIME])
    unlike = [beside_torch(M=m, N=2**17 + m, meet_us=9.5, of_meet=0.95) for m in (3, 4, 9)]
    assert drawn_lines(drawn(unlike)[TIME])["meet"].get_linestyle() == "None"


def test_published_lines_are_hollow_and_have_the_data_sheet_as_roofline(tables):
    chosen = select(ranked([]), tables, "a100", *SET)
    for value in ("throughput_gbps", TIME):
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
    line = drawn_lines(found[TIME])["torch_naive"]
    assert (sorted(line.get_xdata()), line.get_ls()) == (sorted(m * n for m, n in shapes), "None")
    assert line.axes.get_xlabel() == "M·N (elements)"
    assert len(cells(found["speedup"])) == len(rows)


def test_the_heat_map_has_numbers_statuses_and_colours_apart_up_to_100(own, drawn):
    shown = cells(heatmap.draw_speedup(own))
    assert len(shown) == len(synthetic.VARIANTS) * len(synthetic.ONLINE_SIZES)
    assert "1.00" in shown  # torch, by pairing
    assert shown.count("compile\nerror") == 1
    speeds = enumerate((0.011, 1.0, 1.1, 1.2, 30.0, 99.0), 1)
    rows = [synthetic.with_speedup(v, 0.001, variant="torch_jit", N=n) for n, v in speeds]
    axes = drawn(rows)["speedup"].axes[0]
    own = [patch for patch in axes.patches if patch.get_y()]  # below torch
    colours = np.array([patch.get_facecolor()[:3] for patch in own])
    apart = [np.abs(a - b).max() for i, a in enumerate(colours) for b in colours[:i]]
    assert (len(own), min(apart) > 0.04) == (6, True)


def test_the_heat_map_folds_many_sizes_into_bands_and_names_the_m_of_each_column(drawn):
    rows = synthetic.sweep_rows([100 * n for n in range(1, 61)], synthetic.VARIANTS[:3])
    *bands, _ = drawn(rows)["speedup"].axes
    assert len(bands) == math.ceil(60 / heatmap.COLUMNS)
    assert sum(len(axes.texts) for axes in bands) == len(rows)
    shapes = (786432, 128), (2**17, 768), (100663, 1000)
    axes = drawn([synthetic.row(M=m, N=n) for m, n in shapes])["speedup"].axes[0]
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["2⁷\n786432", "768\n2¹⁷", "1000\n100663"]
    assert axes.get_xlabel() == "N (columns), and below it M (rows)"


@pytest.mark.parametrize("half", [0.01, 0.3])
def test_the_best_set_of_each_size_is_framed_and_the_map_names_it(drawn, half):
    """Dashed where it has several variants, which is a tie in the map."""
    speeds = {256: ("triton_row", "triton_fused"), 512: ("triton_fused", "triton_row")}
    rows = []
    for n, (first, second) in speeds.items():
        rows += synthetic.with_speedups({first: 1.5}, [n], half, of_copy=0.75)
        rows += synthetic.with_speedups({second: 1.2}, [n], half, of_copy=0.6)
    found = drawn(rows)
    assert frames(found["speedup"]) == (["-"] * 2 if half < 0.1 else ["--"] * 4)
    assert cells(found["map"]) == (["   75"] * 2 if half < 0.1 else ["   75⁼"] * 2)
    colours = [to_hex(patch.get_facecolor()).upper() for patch in found["map"].axes[0].patches]
    assert colours == [palette.KNOWN[names[0]].colour for names in speeds.values()]
    legend = found["map"].axes[0].get_legend()
    assert [text.get_text() for text in legend.texts] == ["triton_fused", "triton_row"]


def test_a_cell_of_the_map_has_the_least_share_and_says_that_other_kernels_are_fastest(drawn):
    rows = synthetic.with_speedups({"a": 1.0, "b": 1.5}, [260], of_copy=0.5)
    rows += synthetic.with_speedups({"a": 1.0, "b": 1.5}, [300], of_copy=0.9)
    rows += synthetic.with_speedups({"a": 1.5, "b": 1.0}, [400], of_copy=0.7)
    assert cells(drawn(rows)["map"]) == ["   50⁺"]


def test_one_row_and_none_that_is_ok(drawn):
    found = drawn([synthetic.row(variant="triton_row")])
    shown, (axes,) = drawn_lines(found[TIME]), found[TIME].axes
    assert set(shown) == {"triton_row", "torch_softmax", "copy"}
    assert shown["copy"].get_marker() == "_"  # a line through one size has no length
    (point,) = axes.transData.transform(shown["triton_row"].get_xydata())
    assert axes.get_window_extent().contains(*point)
    (cell,) = found["map"].axes[0].patches
    assert min(cell.get_facecolor()) > 0.7  # pale: no other kernel competes
    found = drawn([synthetic.row(variant=name, status="crash") for name in synthetic.VARIANTS])
    assert cells(found.pop("speedup")) == ["crash"] * 10
    assert not any(figure.axes for figure in found.values())
    for figure in found.values():
        assert all(part in words(figure) for part in ("no timed rows", "10 crash"))


def test_a_throttled_time_and_one_of_another_board_have_marks_and_legends(drawn):
    rows = [synthetic.row(N=n, flags="throttled" if n == 256 else "") for n in (256, 512)]
    rows += [synthetic.row(N=256, variant=v) for v in ("triton_row", "torch_softmax")]
    rows += [synthetic.row(N=256, variant="triton_fused", gpu_uuid="GPU-2")]
    found = drawn(rows)
    assert all("† the GPU was thr" in words(figure) for figure in found.values())
    assert all("° 1 row of another" in words(figure) for figure in found.values())
    (sign,) = [t for t in found[TIME].axes[0].texts if t.get_gid() == "triton_online †"]
    assert (sign.xy[0], sign.get_text()) == (256, "†")
    assert "triton_fused" in drawn_lines(found[TIME])
    shown = "".join(cells(found["speedup"]))
    assert (shown.count("°"), shown.count("†")) == (1, 1)


def test_what_does_not_rank_is_not_drawn_and_says_why(drawn):
    flags = {"triton_row": "throttled", "triton_fused": "faster_than_roofline throttled"}
    rows = [synthetic.row(variant=name, flags=flags.get(name, "")) for name in synthetic.VARIANTS]
    found = drawn(rows, unranked=["faster_than_roofline", "throttled"])
    assert drawn_lines(found[TIME]).keys() == {*synthetic.VARIANTS, "copy"} - flags.keys()
    assert "without a time that counts: 1 not ranked (" in words(found[TIME])
    assert "1 not ranked (throttled)" in words(found[TIME])
    assert {"throttled", "not\nranked"} <= set(cells(found["speedup"]))


def test_published_stands_beside_measured_with_the_ratios_of_both(tables):
    sizes = synthetic.ONEFLOW_SIZES
    rows = ranked(synthetic.oneflow_rows(3.0, sizes=sorted([*sizes, 256])), sweep="oneflow")
    chosen = select(rows, tables, "h200", "float32", "oneflow")
    every = select(rows, tables).rows
    sources = [name for name, each in tables.sources.items() if each.sweep == "oneflow"]
    figure = lines.draw_published(chosen, every[every["table"].isin(sources)])
    ratios = drawn_lines(figure)
    assert set(ratios) == {*PAIR, *(f"{name} (published)" for name in PAIR)}
    assert ratios["cuda_oneflow"].get_xdata().tolist() == sizes  # as published
    assert ratios["cuda_oneflow"].get_ydata()[-1] == pytest.approx(3.0, rel=0.05)
    assert ratios["cuda_oneflow (published)"].get_ydata()[0] == pytest.approx(26.4 / 9.66, rel=0.01)


def test_gpus_stand_side_by_side_with_one_axis(tables):
    rows = ranked(synthetic.sweep_rows())
    every = select(rows, tables)
    rows = every.rows.query("dtype == 'float32' and sweep == 'online_softmax'")
    figure = lines.draw_over_n(every._replace(rows=rows), "throughput_gbps")
    titles = [axes.get_title(loc="left").split("\n")[0] for axes in figure.axes]
    assert titles == ["NVIDIA A100-PCIE-40GB (published)", "NVIDIA H200 (measured)"]
    fastest = max(drawn_lines(figure, 1)["copy"].get_ydata())
    assert figure.axes[0].get_ylim()[1] == figure.axes[1].get_ylim()[1] > fastest


def test_the_hero_shows_the_m_with_the_most_of_its_kernels_and_counts_what_is_wrong(tables):
    wrong = synthetic.row(variant="peer_quack", N=512, status="incorrect")
    rows = [synthetic.row(variant=name, N=n) for name in lines.HERO["variant"] for n in (256, 1024)]
    rows += [synthetic.row(variant="frontier", M=8, N=n) for n in range(1, 9)]
    figure = lines.draw_hero(select(ranked([*rows, wrong]), tables))
    assert set(drawn_lines(figure)) == {*lines.HERO["variant"], "copy"}
    assert all(part in words(figure) for part in ("M = 1024", "1 incorrect"))


def test_changes_of_a_comparison_are_cells_with_signs():
    point = {"gpu": "h200", "op": "softmax", "dtype": "float32", "distribution": "normal"}
    changes = pd.DataFrame({"variant": list("abc"), "ratio": [0.5, 1.02, math.nan]})
    changes["change"] = [compare.SLOWER, compare.SAME, compare.BROKE]
    changes["failed"] = [True, False, True]
    changes = changes.assign(low=changes["ratio"] * 0.95, high=changes["ratio"] * 1.05)
    changes = changes.assign(M=4, N=8, **point).set_index([*point, "M", "N", "variant"])
    figure = heatmap.draw_changes(changes)
    assert cells(figure) == ["0.50▼\n±5 %", "1.02\n±5 %", "broke"]
    assert frames(figure) == ["-", "-"]
    assert "1 broke, 1 slower, 1 same of 3 points" in words(figure)


def test_torch_becomes_a_row_that_does_not_compete_where_it_is_not_timed(tables):
    """It has what its controls know, and a figure says what it is."""
    rows = ranked(beside_torch(torch_us=us, variant=f"triton_{us}") for us in (19.0, 20.0, 24.0))
    found = with_controls(rows)
    (torch,) = found[found["flags"] == CONTROL].to_dict("records")
    assert (torch["variant"], torch["time_us"], torch["speedup"]) == ("torch_softmax", 20.0, 1.0)
    assert (torch["of_copy"], torch["throughput_gbps"]) == (0.45, rows["throughput_gbps"][1] / 2)
    assert (math.isnan(torch["rank"]), torch["competitors"]) == (True, 0)
    assert found["competitors"].tolist() == [3, 3, 3, 0]
    for part in (found, found.assign(in_best_set=True)):  # torch takes no other's place
        assert ranking.highlighted(part, 1) == ["torch_softmax", "triton_19.0"]
    figure = lines.draw_over_n(select(rows, tables, "h200", *SET), TIME)
    assert "torch_softmax" in drawn_lines(figure)
    assert "torch: also as" in words(figure)
    failed = frame_of([beside_torch(status="timeout", time_us="", torch_us="")])
    beside = frame_of([beside_torch(), beside_torch(variant="torch_softmax")])
    assert all(with_controls(rows) is rows for rows in (failed, beside))


def test_the_files_of_a_gpu_are_the_same_twice(tables, tmp_path):
    rows = synthetic.oneflow_rows()
    frame = frame_of([*rows, *(r | {"gpu": "cpu"} for r in rows)], "oneflow")
    first, second = (write.write(frame, tables, "h200", tmp_path / each) for each in "ab")
    kinds = ("time", "throughput", "speedup", "published")
    expected = {"map", *(f"float32_oneflow_{kind}" for kind in kinds)}
    assert {path.stem for path in first} == expected
    assert sorted((tmp_path / "a/h200").iterdir()) == sorted(first)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert {path.read_bytes()[:5] for path in first} == {b"\x89PNG\r", b"<?xml"}
    # text stays text
    assert "cuda_oneflow</text>" in (tmp_path / "a/h200/float32_oneflow_time.svg").read_text(
        encoding="utf-8"
    )
    # times of a CPU stand beside no GPU's, and a table without torch has no speed-up
    cpu = write.write(frame, tables, "cpu", tmp_path)
    assert {path.stem for path in cpu} == expected - {"float32_oneflow_published"}
    shared = write.write(frame, tables, write.ALL, tmp_path)
    assert {path.stem for path in shared} == {"hero", "gpus_float32_oneflow"}
    write.write(frame[frame["gpu"] == "cpu"], tables, write.ALL, tmp_path)
    assert "no timed rows" in (tmp_path / "all/hero.svg").read_text(encoding="utf-8")
    assert write.write(frame, tables, "h100", tmp_path) == []


def test_a_name_is_text_and_no_formula(tables, tmp_path):
    r"""A broken formula would end the drawing; `$\frac{` may be in any text of a table."""
    name = r"NVIDIA $\frac{ _^$ H200"
    table = frame_of(synthetic.sweep_rows(gpu_name=name, driver="$x^"))
    written = write.write(table, tables, "h200", tmp_path)
    svgs = [path.read_text(encoding="utf-8") for path in written if path.suffix == ".svg"]
    assert len(svgs) >= 4
    assert all(name in svg for svg in svgs)
    assert "$x^" in svgs[0]


def test_a_figure_that_cannot_be_drawn_costs_no_other(tmp_path, capsys):
    drawings = {
        "good": lambda: style.page(1, "a title", []),
        "bad": lambda: 1 / 0,
        "last": lambda: style.page(1, "a title", []),
    }
    written = write.draw(drawings, tmp_path)
    assert [path.name for path in written] == ["good.svg", "good.png", "last.svg", "last.png"]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "no figure bad, as drawing it failed: ZeroDivisionError" in said
    assert write.draw({"bad": lambda: 1 / 0}, tmp_path / "none") == []
    assert (tmp_path / "none").is_dir()
