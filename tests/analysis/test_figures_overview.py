"""The overview: its panels, the variants in front, and the fastest variant at every N."""

import pytest

from analysis import palette
from analysis.figures.overview import MUTED, draw_overview
from tests.analysis import synthetic

SIZES = [256, 512, 1024, 2048]
FAST = ("triton_row", "triton_fused")


def rows_of(speeds, sizes=SIZES, **given):
    """A row for every variant of `speeds` and every size: variant -> of_copy, or one for each."""
    found = []
    for variant, speed in speeds.items():
        each = speed if isinstance(speed, list) else [speed] * len(sizes)
        for n, of_copy in zip(sizes, each, strict=True):
            value = {
                "speedup": 2 * of_copy,
                "speedup_low": 1.99 * of_copy,
                "speedup_high": 2.01 * of_copy,
            }
            found.append(synthetic.row(variant=variant, N=n, of_copy=of_copy, **value, **given))
    return found


@pytest.fixture(scope="module")
def three(ranked, tables):
    """float32 on two GPUs and float16 on one; row wins thrice a panel, fused once, of ten."""
    rest = {name: 0.2 for name in synthetic.VARIANTS if name not in (*FAST, "torch_softmax")}
    speeds = {
        "torch_softmax": 0.5,
        "triton_row": [0.9, 0.9, 0.9, 0.6],
        "triton_fused": [0.3, 0.3, 0.3, 0.8],
    }
    where = [("h200", "float16"), ("h200", "float32"), ("a100", "float32")]
    rows = [r for gpu, dtype in where for r in rows_of(speeds | rest, gpu=gpu, dtype=dtype)]
    return draw_overview(ranked(rows), tables)


def lines(axes):
    return {line.get_gid(): line for line in axes.lines if line.get_gid()}


def strip(axes):
    """Variant and edges of every box of the strip, from left to right."""
    boxes = [(patch.get_gid(), *patch.get_extents().intervalx) for patch in axes.patches]
    return sorted((left, right, gid.split()[1]) for gid, left, right in boxes)


def test_every_variant_is_drawn_and_the_best_and_torch_are_in_front(three):
    for axes in three.axes:
        drawn = lines(axes)
        assert {*synthetic.VARIANTS, "copy"} <= set(drawn)
        front = {name for name in synthetic.VARIANTS if drawn[name].get_color() != MUTED}
        assert front == {"torch_softmax", *FAST}
        for name in front:
            style = palette.style(name)
            look = (drawn[name].get_color(), drawn[name].get_marker())
            assert look == (style.colour, style.marker)
        assert list(drawn["triton_row"].get_ydata()) == pytest.approx([0.9, 0.9, 0.9, 0.6])


def test_the_strip_says_who_is_the_fastest_at_each_size(three):
    for axes in three.axes:
        (left, _, row), (_, right, fused) = strip(axes)
        assert (row, fused) == ("triton_row", "triton_fused")
        inside = axes.get_window_extent()
        assert inside.x0 - 0.5 <= left < right <= inside.x1 + 0.5  # pixels
        assert "triton_row" in [text.get_text() for text in axes.texts]
        # too narrow for its name: its marker
        markers = {line.get_gid(): line.get_marker() for line in axes.lines}
        assert markers["marker triton_fused"] == palette.style("triton_fused").marker


def test_published_tables_and_failed_rows_are_not_on_it(ranked, tables):
    failed = [synthetic.row(variant=name, status="timeout") for name in synthetic.VARIANTS]
    figure = draw_overview(ranked(failed), tables)
    assert not figure.axes
    assert "no timed rows: 10 timeout" in [text.get_text() for text in figure.texts]
    assert "no rows" in [text.get_text() for text in draw_overview(ranked([]), tables).texts]
