"""Lines over N and dots, of rows that are few, failed, flagged, or published."""

import math

import numpy as np
import pandas as pd
import pytest

from analysis import palette
from analysis.figures import bars, heatmap, labels, lines, style
from analysis.figures.panels import CONTROL, select, with_controls
from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of, ranked

SET, TIME, RATE = ("float32", "online_softmax"), "time_us", "throughput_gbps"


def beside_torch(**columns):
    own = {"time_us": 10.0, "copy_us": 9.0, "of_copy": 0.9, "torch_us": 20.0}
    return synthetic.with_speedup(2.0, 0.1, **own | {"variant": "triton_row"} | columns)


def names(axes):
    return {text.get_text() for text in axes.texts}


def drawn(axes, colour):
    """The lines of a colour in the data, without samples beside names and caps of intervals."""
    lines_of_data = [line for line in axes.lines if line.get_transform() == axes.transData]
    return [
        line
        for line in lines_of_data
        if line.get_color() == colour and line.get_linestyle() != "None" and len(line.get_xdata())
    ]


def curves(axes, variant):
    """The points of each line of a variant."""
    return [line.get_xydata().tolist() for line in drawn(axes, palette.KNOWN[variant].colour)]


def texts(figure):
    return " ".join(text.get_text() for text in figure.texts).replace("\n", " ")


def title(figure):
    return figure._suptitle.get_text().replace("\n", " ")


def test_time_has_a_line_and_a_name_for_each_variant_and_one_line_of_facts(chosen):
    failed = synthetic.row(variant="triton_fused", N=131072, status="compile_error")
    rows = synthetic.sweep_rows(variants=["torch_softmax", "triton_fused", "triton_online"])
    rows = [row for row in rows if (row["variant"], row["N"]) != ("triton_fused", "131072")]
    figure = lines.draw_over_n(chosen([*rows, failed]), TIME)
    (axes,) = figure.axes
    assert names(axes) == {"torch_softmax", "triton_fused", "triton_online", "copy"}
    assert (axes.get_xlabel(), axes.get_xscale(), axes.get_yscale()) == (
        "N (columns)",
        "log",
        "log",
    )
    assert {"2⁸", "2¹⁶"} <= {label.get_text() for label in axes.get_xticklabels()}
    (online,) = curves(axes, "triton_online")
    expected = [synthetic.time_us("triton_online", 1024, n, 4) for n in synthetic.ONLINE_SIZES]
    assert online == [
        pytest.approx(point) for point in zip(synthetic.ONLINE_SIZES, expected, strict=True)
    ]
    (fused,) = curves(axes, "triton_fused")
    assert fused[-1][0] == 65536
    expected_facts = (
        "H200",
        "M = 1024",
        "torch 2.11.0",
        "driver 570.124",
        "current code",
        "1 compile error",
    )
    assert all(fact in texts(figure) for fact in expected_facts)


def test_no_tick_is_a_formula(chosen):
    """matplotlib's own names of minor ticks are, where a logarithmic axis is short."""
    short = [(2 ** (24 - n), 2**n) for n in range(10, 16)]
    times = {(1, 2**n): 2.0**n for n in range(10, 16)} | {(m, n): 1000 + n / 20 for m, n in short}
    rows = [
        beside_torch(M=m, N=n, time_us=us, copy_us=us, torch_us=2 * us)
        for (m, n), us in times.items()
    ]
    figure = lines.draw_over_n(chosen(rows), TIME)
    figure.draw_without_rendering()
    names_of_ticks = [
        tick.get_text() for axes in figure.axes for tick in axes.yaxis.get_ticklabels(which="both")
    ]
    assert [axes.get_yscale() for axes in figure.axes] == ["log", "log"]
    assert "1,000" in names_of_ticks
    assert not any("$" in name for name in names_of_ticks)


def test_times_of_equal_bytes_stand_on_an_axis_from_zero(chosen):
    """They differ little, and a logarithmic axis would have no tick between them."""
    rows = [beside_torch(M=2**20 // n, N=n) for n in (256, 512, 1024)]
    (axes,) = lines.draw_over_n(chosen(rows), TIME).axes
    assert (axes.get_yscale(), axes.get_ylim()[0]) == ("linear", 0)


def test_seaborn_draws_the_interval_of_each_point(chosen):
    figure = lines.draw_over_n(chosen([beside_torch(N=n) for n in (256, 512, 1024)]), TIME)
    bars = [bar for bar in figure.axes[0].collections if len(bar.get_segments()) == 3]
    drawn_bars = [bar.get_segments()[0] for bar in bars if len(bar.get_segments()[0])]
    ends = [bar[:, 1] for bar in drawn_bars]
    assert any(low < 9.53 and high > 10.52 for low, high in ends), "10 µs, ± 5 %"


def test_more_variants_than_names_are_grey(chosen):
    (axes,) = lines.draw_over_n(chosen(synthetic.sweep_rows()), RATE).axes
    assert len(names(axes) - {"copy"}) == lines.LABELLED < len(synthetic.VARIANTS)
    grey = [line for line in axes.lines if line.get_color() == style.PALE]
    grey = [line for line in grey if line.get_linestyle() == "-"]
    assert len(grey) == len(synthetic.VARIANTS) - lines.LABELLED
    assert "grey: 3 other kernels" in texts(axes.figure)


def test_names_neither_overlap_nor_leave_the_order_of_the_ends():
    places = [0.0, 0.01, 0.02, 1.0, 1.9, 1.95]
    moved = labels.spread(places, gap=0.2, length=2.0)
    assert np.diff(moved).min() >= 0.2 - 1e-9
    assert (min(moved), max(moved)) == (pytest.approx(0.1), pytest.approx(1.9))
    assert moved[3] == pytest.approx(1.0)  # alone, it stays


def test_few_long_rows_have_a_second_roofline(chosen):
    sizes = (2**17, 2**18, 2**19)
    rows = [beside_torch(M=4, N=n, meet_us=9.5, of_meet=0.95) for n in sizes]
    (axes,) = lines.draw_over_n(chosen(rows), TIME).axes
    assert names(axes) == {"torch_softmax", "triton_row", "copy", "few-row limit"}
    without = [beside_torch(M=4, N=n) for n in sizes]
    assert "few-row limit" not in names(lines.draw_over_n(chosen(without), TIME).axes[0])


@pytest.mark.parametrize("value", [TIME, RATE])
def test_a_published_table_has_all_columns_and_the_data_sheet(tables, value):
    figure = lines.draw_over_n(select(ranked([]), tables, "a100", *SET), value)
    (axes,) = figure.axes
    assert names(axes) == {"torch_softmax", *synthetic.TRITON[:5], "data sheet"}
    assert "published by Mizuno-Ai / wu-kan" in texts(figure)
    assert "(published)" in axes.get_title(loc="left")
    (fused,) = drawn(axes, palette.KNOWN["triton_fused"].colour)
    assert len(fused.get_xdata()) == 10


def test_sizes_without_a_rule_for_m_are_dots_over_their_elements(chosen):
    """As random shapes: a line would join what has nothing in common, and no size is left out."""
    shapes = [(96, 7000), (3000, 17), (96, 50), (11, 900), (5, 60000), (700, 17)]
    rows = [synthetic.row(M=m, N=n, variant=v) for m, n in shapes for v in synthetic.VARIANTS[:2]]
    (axes,) = lines.draw_over_n(chosen(rows), RATE).axes
    assert axes.get_xlabel() == "M·N (elements)"
    (dots,) = [part for part in axes.collections if len(part.get_offsets()) == 2 * len(shapes)]
    assert {int(x) for x, _ in dots.get_offsets()} == {m * n for m, n in shapes}


def test_gpus_stand_side_by_side_with_one_axis_and_a_title_each(tables):
    gpus = {"h100": "X", "h200": "Y", "h200_b": "Y"}
    rows = [r for gpu, name in gpus.items() for r in synthetic.sweep_rows(gpu=gpu, gpu_name=name)]
    every = select(ranked(rows), tables)
    figure = lines.draw_over_n(every._replace(rows=every.own), RATE)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["X", "Y, h200", "Y, h200_b"]
    ((low, _),) = {axes.get_ylim() for axes in figure.axes}
    assert low == 0


def test_the_hero_has_the_largest_shapes_of_the_peers_and_names_each_fastest_kernel(tables):
    """Kernels that lose have their bars, and those that failed the reason, on each GPU."""
    shares = {"torch_softmax": 0.4, "peer_quack": 0.99, "frontier": 0.9}
    rows = [
        synthetic.with_speedup(share / 0.4, variant=name, M=m, gpu=gpu, gpu_name=gpu, of_copy=share)
        for name, share in shares.items()
        for m in range(1, bars.MOST_SHAPES + 3)
        for gpu in ("h200", "h100")
    ]
    liger = [(4, {}), (5, {"status": "incorrect"}), (6, {"flags": "overlaps_calls"})]
    rows += [
        synthetic.with_speedup(0.5, variant="peer_liger", M=m, gpu_name="h200", of_copy=0.2, **own)
        for m, own in liger
    ]
    elsewhere = ranked([synthetic.row(variant="frontier", M=4096)], sweep="mine")
    measured = pd.concat([ranked(rows, sweep="peers"), elsewhere], ignore_index=True)
    figure = bars.draw_hero(select(measured, tables))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "h100, float32",
        "h200, float32",
    ]
    for axes in figure.axes:
        shapes = [label.get_text() for label in axes.get_yticklabels()]
        assert shapes == [f"{m}{style.TIMES}1024" for m in range(6, 2, -1)]
    h100, h200 = (sorted(names(axes)) for axes in figure.axes)
    assert h100 == ["99 %", "not measured"]
    assert h200 == ["99 %", "no reliable time", "not measured", "wrong result"]
    few_long_rows = bars.draw_hero(select(measured.assign(of_meet=0.75), tables))
    assert names(few_long_rows.axes[0]) == {"75 %", "not measured"}
    legend = figure.axes[-1].get_legend().get_texts()
    assert [text.get_text() for text in legend] == ["torch", "Liger", "QuACK", "frontier"]
    assert "1 incorrect" in texts(figure)
    assert title(figure) == (
        "Softmax: QuACK is fastest of these or within 1 % at 8 of 8 shapes; torch reaches 40 % of "
        "the limit (median)"
    )


def test_no_line_crosses_an_n_that_its_kernel_was_not_timed_at(chosen):
    sizes = {"frontier": (256, 512, 1024, 2048), "peer_quack": (256, 1024, 2048)}
    rows = [synthetic.row(variant=name, N=n) for name, every in sizes.items() for n in every]
    (axes,) = lines.draw_over_n(chosen(rows), RATE).axes
    ((first, gap, *joined),) = curves(axes, "peer_quack")
    assert (first[0], [n for n, _ in joined]) == (256, [1024, 2048])
    assert all(map(math.isnan, gap))
    ((*_, last),) = curves(axes, "frontier")
    assert not math.isnan(last[1])


def test_a_kernel_without_a_name_is_not_drawn_beside_another_gpu(tables):
    rows = [row for gpu in ("h100", "h200") for row in synthetic.sweep_rows(gpu=gpu)]
    every = select(ranked(rows), tables)
    figure = lines.draw_over_n(every._replace(rows=every.own), RATE)
    assert "grey" not in texts(figure)
    assert style.PALE not in {line.get_color() for axes in figure.axes for line in axes.lines}


def test_the_gain_is_drawn_in_times_and_in_time_on_an_axis_that_no_loss_compresses(chosen):
    speeds = {256: 1.5, 512: 2.0, 1024: 0.1}
    rows = [
        synthetic.with_speedup(s, variant="triton_row", N=n, time_us=8.0) for n, s in speeds.items()
    ]
    figure = lines.draw_gain(chosen(rows))
    times, saved = figure.axes
    assert [y for curve in curves(times, "triton_row") for _, y in curve] == pytest.approx(
        [*speeds.values()]
    )
    assert [y for curve in curves(saved, "triton_row") for _, y in curve] == pytest.approx(
        [4.0, 8.0, -7.2]
    )
    assert (times.get_yscale(), saved.get_yscale()) == ("linear", "symlog")
    low, high = saved.get_ylim()
    assert low < -7.2
    assert high > 8.0
    assert title(figure).startswith("triton_row saves -7.2 µs (1024x1024) to 8.0 µs (1024x512) of")


def test_published_stands_beside_measured_with_the_ratios_of_both(tables):
    sizes = synthetic.ONEFLOW_SIZES
    rows = ranked(synthetic.oneflow_rows(3.0, sizes=sorted([*sizes, 256])), sweep="oneflow")
    selection = select(rows, tables, "h200", "float32", "oneflow")
    every = select(rows, tables).rows
    sources = [name for name, source in tables.sources.items() if source.sweep == "oneflow"]
    (axes,) = lines.draw_published(selection, every[every["table"].isin(sources)]).axes
    (published,), (measured,) = (drawn(axes, look.colour) for look in palette.GPUS[:2])
    assert names(axes) == {"A100-PCIE-40GB (published)", "H200"}
    assert measured.get_xdata().tolist() == sizes  # the published ones
    assert measured.get_ydata()[-1] == pytest.approx(3.0, rel=0.05)
    assert published.get_ydata()[0] == pytest.approx(26.4 / 9.66, rel=0.01)


def test_rows_without_a_time_are_said(chosen):
    failed = chosen([synthetic.row(variant=name, status="crash") for name in synthetic.VARIANTS])
    figures = [lines.draw_over_n(failed, TIME), lines.draw_gain(failed), bars.draw_hero(failed)]
    assert all("no timed rows" in title(figure) and not figure.axes for figure in figures)
    figure = heatmap.draw_speedup(failed)
    assert (title(figure), sorted(names(figure.axes[0]))) == ("No kernel has a time", ["crash"])
    assert "10 crash" in texts(figure)


def test_what_does_not_rank_is_not_drawn_and_flags_are_counted(chosen):
    flags = {"triton_row": "throttled", "triton_fused": "faster_than_roofline throttled"}
    few = ["torch_softmax", "triton_tiled", *flags]
    rows = [
        synthetic.row(variant=name, N=n, flags=flags.get(name, ""))
        for name in few
        for n in (1, 2, 3)
    ]
    selection = chosen(rows)
    figure = lines.draw_over_n(selection, TIME)
    assert names(figure.axes[0]) == {"torch_softmax", "triton_tiled", "triton_row", "copy"}
    expected = ("3 not ranked (faster than roofline)", "· 3 throttled")
    assert all(fact in texts(figure) for fact in expected)


def test_torch_becomes_a_row_that_does_not_compete_where_it_is_not_timed(chosen):
    """It has what its controls know."""
    rows = ranked(beside_torch(torch_us=us, variant=f"triton_{us}") for us in (19.0, 20.0, 24.0))
    table = with_controls(rows)
    (torch,) = table[table["flags"] == CONTROL].to_dict("records")
    assert (torch["variant"], torch["time_us"], torch["speedup"]) == ("torch_softmax", 20.0, 1.0)
    assert (torch["of_copy"], torch["throughput_gbps"]) == (0.45, rows["throughput_gbps"][1] / 2)
    assert (math.isnan(torch["rank"]), torch["competitors"]) == (True, 0)
    assert table["competitors"].tolist() == [3, 3, 3, 0]
    figure = lines.draw_over_n(chosen([beside_torch(N=n) for n in (1, 2, 4)]), TIME)
    assert "torch_softmax" in names(figure.axes[0])
    failed = frame_of([beside_torch(status="timeout", time_us="", torch_us="")])
    beside = frame_of([beside_torch(), beside_torch(variant="torch_softmax")])
    assert all(with_controls(rows) is rows for rows in (failed, beside))
