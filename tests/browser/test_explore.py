"""The chart and the table of rows can be chosen, searched, and read with the keyboard."""

import itertools
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.analysis import synthetic
from tests.browser import made
from tests.colours import SIGHTS, lab

pytestmark = pytest.mark.xdist_group("browser")


# The colour and marker of each coloured line, in every chart.
LOOKS = """() => {
  const chart = document.querySelector("#chooser [name=chart]");
  const hex = (colour) =>
    "#" + colour.match(/\\d+/g).map((part) => (+part).toString(16).padStart(2, "0")).join("");
  return [...chart.options].map((option) => {
    chart.value = option.value;
    chart.dispatchEvent(new Event("change", { bubbles: true }));
    return [...document.querySelectorAll("#plot .line:not(.grey)")].map((line) => ({
      name: line.dataset.label, colour: hex(getComputedStyle(line).color),
      marker: line.querySelector(".mark").getAttribute("d"),
    }));
  });
}"""


def choose(page, gpu, label, metric):
    page.locator("#chooser [name=metric]").select_option(metric)
    option = page.locator("#chooser [name=chart] option", has_text=f"{gpu}, {label}").first
    page.locator("#chooser [name=chart]").select_option(value=option.get_attribute("value"))


def test_the_chart_shows_every_kernel_and_reads_its_values(opened):
    page = opened()
    choose(page, "NVIDIA H200", "softmax, float32, M = 1024", "graph")
    lines = page.locator("#plot .line")
    assert lines.count() == len(synthetic.VARIANTS)
    grey = page.locator("#plot .line.grey")
    assert grey.count() == len(synthetic.VARIANTS) - 6
    assert page.locator('#plot .line:not(.grey)[data-label="torch_softmax"]').count() == 1
    page.locator("#chooser [name=all]").check()
    assert grey.count() == 0
    page.locator("#plot").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    times = {v: synthetic.time_us(v, 1024, 512, 4) for v in synthetic.VARIANTS}
    texts = page.locator("#values span:not(.dot)").all_inner_texts()
    values = [text.split() for text in texts]
    assert [name for name, *_ in values] == sorted(times, key=times.get)
    assert {name: float(us) for name, us, _ in values} == pytest.approx(times, rel=6e-3)
    page.locator("#chart summary").click()
    head = page.locator("#numbers thead th").all_inner_texts()
    row = page.locator("#numbers tbody tr").nth(1).locator("th, td").all_inner_texts()
    assert dict(zip(head, row, strict=True))["N"] == "512"
    end = page.locator("#plot .line .mark").last.bounding_box()
    page.mouse.move(end["x"], end["y"])
    assert "131072" in page.locator("#values").inner_text()


def test_coloured_lines_have_their_names_at_their_ends_and_no_two_overlap(opened):
    page = opened()
    choose(page, "NVIDIA H200", "softmax, float32, M = 1024", "graph")
    coloured = page.locator("#plot .line:not(.grey)").evaluate_all(
        "all => all.map(e => e.dataset.label)"
    )
    names = page.locator("#plot .name")
    assert sorted(names.all_text_contents()) == sorted(coloured)
    boxes = sorted(box["y"] for box in map(type(names).bounding_box, names.all()))
    assert all(below - above >= 13 for above, below in itertools.pairwise(boxes))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("sight", SIGHTS)
def test_coloured_lines_differ_for_the_colour_blind(opened, recorded, sight, scheme):
    """In every chart by the colour, or by the marker where colours look alike."""
    page = opened(path=recorded[1], color_scheme=scheme)
    charts = page.evaluate(LOOKS)
    assert len(charts) > 20
    alike = {
        (first["name"], second["name"])
        for lines in charts
        for first, second in itertools.combinations(lines, 2)
        if first["marker"] == second["marker"]
        and np.linalg.norm(
            lab(first["colour"], SIGHTS[sight]) - lab(second["colour"], SIGHTS[sight])
        )
        < 15
    }
    assert not alike


def test_lines_join_only_measured_neighbours_of_one_m(opened, tmp_path):
    """`b` lacks the size between, and 64 x 128, of another M, is not in the chart."""
    rows = synthetic.with_speedups({"a": 2.0}, [256, 512, 1024, 2048])
    rows += synthetic.with_speedups({"b": 1.5}, [256, 1024, 2048])
    rows += synthetic.with_speedups({"a": 2.0, "b": 1.0}, [128], M=64)
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    choose(page, "NVIDIA H200", "softmax, float32", "torch")

    def segments(label):
        lines = page.locator(f'#plot [data-label="{label}"] polyline')
        return [line.get_attribute("points").count(",") for line in lines.all()]

    assert segments("a") == [4]
    assert segments("b") == [2]
    assert page.locator('#plot [data-label="b"] .mark').count() == 3


def test_sizes_whose_m_follows_no_rule_have_a_sentence_in_place_of_a_chart(opened, tmp_path):
    rows = [
        row
        for m, n in ((64, 128), (1000, 300), (7, 5000))
        for row in synthetic.with_speedups({"frontier": 2.0, "peer_quack": 1.5}, [n], M=m)
    ]
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    assert "their M follows no rule" in page.locator("#chart-note").inner_text()
    assert page.locator("#plot svg").count() == 0


def test_the_shape_of_the_question_is_drawn(opened):
    page = opened(asks="#h200/softmax/float32/1024x3000")
    assert page.locator("#plot line.asked:not(.guess)").count() == 1
    assert "1024 × 3000" in page.locator("#plot svg").text_content().replace("\u00a0", " ")  # noqa: RUF001


def test_the_values_are_those_of_the_question_also_after_the_window_changes(opened):
    page = opened(asks="#h200/softmax/float32/1024x512")
    assert page.locator("#values b").first.inner_text() == "1024\u00a0×\u00a0512:"  # noqa: RUF001
    page.set_viewport_size({"width": 900, "height": 700})
    # not wait_for_function, which evaluates a text if it has to wait: the page forbids that
    expect(page.locator("#plot svg")).to_have_attribute("viewBox", re.compile(r"0 0 [1-8]\d\d "))
    assert page.locator("#values b").first.inner_text() == "1024\u00a0×\u00a0512:"  # noqa: RUF001


def test_the_axis_of_speed_ups_does_not_follow_an_outlier(opened, tmp_path):
    speeds = {"frontier": 2.0, "peer_quack": 1.5, "slow": 0.004}
    rows = synthetic.with_speedups(speeds, [256, 512, 1024])
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    choose(page, "NVIDIA H200", "softmax, float32", "torch")
    first, last = (
        page.locator(f'#plot [data-label="{name}"] .mark').first.bounding_box()["y"]
        for name in ("frontier", "slow")
    )
    middle = page.locator('#plot [data-label="peer_quack"] .mark').first.bounding_box()["y"]
    assert (middle - first) / (last - first) > 0.1
    page.locator("#plot").focus()
    assert "0.00400×" in page.locator("#values").inner_text()  # noqa: RUF001


def test_published_tables_have_a_chart(opened):
    page = opened()
    choose(page, "a100 (published)", "softmax, float32, M = 1024", "torch")
    assert page.locator("#plot .line").count() == 6
    assert "torch" in page.locator("#chart-note").inner_text()


def test_the_metric_chooses_the_order_of_the_kernels_and_another_one_the_chart(opened):
    page = opened(asks="#h200/softmax/float32/1024x4096")
    first = page.locator("#kernels tbody tr").first.locator("th")
    for metric, column in (("graph", 1), ("eager", 2), ("limit", 3), ("torch", 4)):
        page.locator("#metric").select_option(metric)
        cells = page.locator(f"#kernels tbody tr > :nth-child({column + 1})").all_inner_texts()
        numbers = [float(re.match(r"[\d.]+", text)[0]) for text in cells]
        assert numbers == sorted(numbers, reverse=metric in ("limit", "torch"))
        page.locator("#chooser [name=metric]").select_option(metric)
        label = page.locator("#plot svg").get_attribute("aria-label")
        assert label.startswith(page.locator("#metric option:checked").inner_text())
    assert first.inner_text().endswith("triton_persistent")


def test_the_best_is_coloured_ties_are_grey_and_a_race_of_one_has_no_colour(opened, tmp_path):
    speeds = {"frontier": 2.0, "peer_quack": 1.995, "peer_liger": 1.0}
    rows = synthetic.with_speedups(speeds, [256])
    rows += synthetic.with_speedups({"frontier": 2.0, "peer_liger": 1.0}, [512])
    rows += synthetic.with_speedups({"frontier": 2.0}, [1024])
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    page.locator("#metric").select_option("torch")
    looks = []
    for n in (256, 512, 1024):
        page.locator("[name=N]").fill(str(n))
        cells = page.locator("#kernels td.torch")
        looks.append(cells.evaluate_all("all => all.map(e => [...e.classList].at(-1))"))
    assert looks[0][:2] == ["tied", "tied"]
    assert looks[0][2].startswith("slower")
    assert looks[1][0] == "best"
    assert set(looks[2]) == {"torch"}, "no colour"


def test_a_number_opens_its_processes_with_intervals_and_closes_them(opened, tmp_path):
    rows = synthetic.with_speedups({"peer_quack": 1.5}, [256])
    rows += synthetic.with_speedups({"frontier": 2.0}, [256], replicate=1)
    rows += synthetic.with_speedups({"frontier": 2.02}, [256], replicate=2)
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    for block in (page.locator("#kernels tr", has_text="frontier"), page.locator("#graph")):
        number = block.locator(".raw").first
        number.click()
        lines = page.locator(".processes div").all_inner_texts()
        assert [line[:10] for line in lines] == ["Process 1:", "Process 2:"]
        assert "2.020 × torch (95 %: 2.019 to 2.021), board" in lines[1]  # noqa: RUF001
        number.click()
        assert page.locator(".processes").count() == 0


def column(page, name):
    names = page.locator("#rows thead th").all_inner_texts()
    return page.locator(f"#rows td:nth-child({names.index(name) + 1})").all_inner_texts()


def test_every_row_is_there_and_search_finds_those_with_all_words(opened):
    page = opened()
    total, count = len(made.rows()), page.locator("#count")
    points = [(row["gpu"], row["op"], row["dtype"]) for row in made.rows()]
    own = points.count(("a100", "softmax", "float32"))  # the first GPU
    expect(count).to_have_text(f"{own} of {total} rows")
    page.locator("#filter [name=own]").uncheck()
    assert page.locator("#rows tbody tr").count() == 50
    assert count.inner_text().startswith(f"{total} of {total} rows; the first 50")
    for words, count_of_rows in (
        ("Triton_Row 1024x512 float32 a100", 1),
        ("crash", 1),
        ("no such row", 0),
    ):
        page.locator("#filter [name=words]").fill(words)
        assert count.inner_text().startswith(f"{count_of_rows} of "), words
    page.locator("#filter [name=words]").fill("512")
    assert {text.split()[-1] for text in column(page, "M × N")} == {"512"}  # noqa: RUF001


def test_text_of_a_csv_stays_text(opened):
    page = opened()
    page.locator("#filter [name=own]").uncheck()
    page.locator("#filter [name=words]").fill("crash")
    assert column(page, "message") == [made.MARKUP]
    assert page.evaluate("window.evil") is None
    assert page.locator("img, script[src], i, main a[href*=example]").count() == 0


def test_a_phone_shows_name_time_speed_up_and_share(opened):
    heads = [h for h in opened(375).locator("#rows thead th").all() if h.is_visible()]
    texts = [head.inner_text() for head in heads]
    assert texts == ["kernel", "graph (µs)", "× torch", "of the limit"]  # noqa: RUF001
    assert all(box["x"] + box["width"] <= 375 for box in map(type(heads[0]).bounding_box, heads))


def test_a_phone_shows_every_column_of_the_kernels(opened, recorded):
    page = opened(375, path=recorded[1])
    boxes = [cell.bounding_box() for cell in page.locator("#kernels tr > *").all()]
    assert len(boxes) % 5 == 0
    assert all(box and box["x"] + box["width"] <= 375 for box in boxes)


def test_the_colours_follow_the_ranking_where_a_time_alone_would_name_another_kernel(
    opened, tmp_path
):
    """Times of two processes are of two clocks; their speed-ups over torch are paired."""
    rows = [
        synthetic.with_speedup(2.0, variant="frontier", N=256, time_us=5.0, torch_us=10.0),
        synthetic.with_speedup(1.5, variant="peer_quack", N=256, time_us=4.0, torch_us=6.0),
    ]
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    looks = {
        name: page.locator("#kernels tr", has_text=name).locator("td.graph").get_attribute("class")
        for name in ("frontier", "peer_quack")
    }
    assert looks["frontier"].endswith(" best")
    assert looks["peer_quack"].endswith(" slower0")
