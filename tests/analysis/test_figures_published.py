"""Published beside measured times, as points on a logarithmic axis."""

import pytest

from analysis import InputError
from analysis.figures import write
from analysis.figures.published import draw_published
from analysis.panels import beside_published
from tests.analysis import oneflow_rows as oneflow

SET = ("float32", "oneflow")
PAIR = ("cuda_oneflow", "cuda_fastertransformer")


@pytest.fixture
def drawn(ranked, tables):
    """Function that draws the points of some rows, of the h200 unless told otherwise."""

    def draw(rows, gpu="h200", sweep="oneflow"):
        frame = ranked(rows, sweep=sweep)
        return draw_published(beside_published(frame, tables, gpu, *SET))

    return draw


@pytest.fixture(scope="module")
def figure(ranked, tables):
    """The points of all sizes, on an H200."""
    frame = ranked(oneflow.rows(oneflow.PROTOCOL), sweep="oneflow")
    return draw_published(beside_published(frame, tables, "h200", *SET))


def drawn_lines(figure):
    return {line.get_gid(): line for line in figure.axes[0].lines if line.get_gid()}


def points(figure):
    return {gid: line for gid, line in drawn_lines(figure).items() if not gid.endswith(" q")}


def whiskers(figure):
    return {gid: line for gid, line in drawn_lines(figure).items() if gid.endswith(" q")}


def time(point):
    (value,) = point.get_ydata()
    return value


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def everything(figure):
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    titles = [figure._suptitle.get_text(), *(axes.get_title() for axes in figure.axes)]
    return [*legend, *titles, *(text.get_text() for text in figure.texts), *texts(figure)]


def test_only_published_points_and_variants_are_drawn(drawn):
    rows = oneflow.rows(oneflow.PROTOCOL) + oneflow.rows({256: 2048 * 256, 512: 4096})
    expected = {
        f"{variant} {origin} {n}"
        for variant in PAIR
        for origin in ("published", "measured")
        for n in oneflow.PROTOCOL
    }
    assert set(points(drawn(rows))) == expected


def test_measured_points_have_whiskers_and_every_point_its_value(figure):
    found = whiskers(figure)
    assert set(found) == {f"{v} measured {n} q" for v in PAIR for n in oneflow.PROTOCOL}
    low, high = found["cuda_oneflow measured 64 q"].get_ydata()
    assert low < time(points(figure)["cuda_oneflow measured 64"]) < high
    assert {"9.66", "26.4", "6,090", "3,100", "59.6"} <= set(texts(figure))


def test_ratios_stand_below_published_without_and_measured_with_an_interval(figure):
    found = texts(figure)
    assert "speed of cuda_oneflow over cuda_fastertransformer:" in found
    assert {"2.736x", "1.965x"} <= set(found)
    fast = oneflow.speedup(oneflow.WARP, 512) / 0.4
    (measured,) = [text for text in found if text.startswith(f"{fast:.3f}x [")]
    low, high = (float(part) for part in measured.split("[")[1].rstrip("]").split(","))
    assert low <= fast <= high
    assert {"published, a100  ", "measured, h200  "} <= set(found)


def test_a_variant_without_a_time_has_no_point_and_is_named(drawn):
    rows = oneflow.rows(oneflow.PROTOCOL, variants=["cuda_oneflow"])
    rows += oneflow.rows(oneflow.PROTOCOL, variants=["cuda_fastertransformer"], status="timeout")
    figure = drawn(rows)
    assert not [gid for gid in points(figure) if gid.startswith("cuda_fastertransformer measured")]
    assert "none" in texts(figure)
    assert any("5 timeout" in text for text in everything(figure))


@pytest.mark.parametrize(
    ("gpu", "sweep", "complaint"),
    [
        ("h200", "mine", "no published table of dtype float32, sweep mine; there are: float32 "),
        ("cpu", "oneflow", "a CPU's times do not stand beside those of a GPU"),
        ("h100", "oneflow", "no rows of gpu h100"),
    ],
)
def test_what_cannot_be_drawn_is_refused(measurements, tables, tmp_path, gpu, sweep, complaint):
    rows = [r for name in ("h200", "cpu") for r in oneflow.rows(oneflow.PROTOCOL, gpu=name)]
    set_ = (gpu, "float32", sweep)
    with pytest.raises(InputError, match=complaint):
        write.write(measurements(rows, sweep), tables, *set_, tmp_path, ["published"])
    assert not list(tmp_path.iterdir())
