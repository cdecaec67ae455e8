"""The figures can be filtered, pointed at, and read with the keyboard."""

import pytest

from tests.analysis import synthetic
from tests.browser import chromium, made

pytestmark = pytest.mark.xdist_group("browser")
LINES = ".view .mark-line.role-mark path"


def titles(page):
    return page.locator("#panels h3").all_inner_texts()


def test_gpus_and_published_tables_stand_side_by_side(opened):
    page = opened()
    page.locator("#chooser [name=set]").select_option(
        label="online_softmax: float32, softmax, M = 1024"
    )
    chromium.drawn(page, 2)
    assert titles(page)[:2] == [
        f"{made.NAME} · measured, published, uniform input",
        "NVIDIA H200 · measured, uniform input",
    ]
    boxes = [page.locator(".chart").nth(i).bounding_box() for i in (0, 1)]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]


def test_a_rival_that_is_only_a_control_is_drawn(opened, tmp_path):
    rows = [synthetic.row(variant="triton_row", N=n, **synthetic.RIVAL) for n in (512, 1024)]
    page = opened(path=made.write(rows, tmp_path))
    view = page.locator(".chart", has_text="NVIDIA H200").first
    view.locator(".view").first.focus()
    page.keyboard.press("End")
    readout = view.locator(".readout").inner_text()
    assert all(name in readout for name in ("peer_quack", "torch_softmax", "triton_row"))


def test_own_and_published_rows_can_be_left_out(opened):
    page = opened()
    page.locator("#chooser [name=own]").uncheck()
    chromium.drawn(page, 2)
    assert len(titles(page)) == 1
    page.locator("#chooser [name=published]").uncheck()
    page.wait_for_function("document.querySelectorAll('#panels figure').length === 0")
    assert "No row" in page.locator("#figure-note").inner_text()


def test_a_kernel_is_switched_off_and_on(opened):
    page = opened()
    view = page.locator(".chart", has_text="NVIDIA H200")
    before = view.locator(LINES).count()
    page.locator('#kernels input[value="triton_row"]').uncheck()
    page.wait_for_function(
        "([selector, count]) => [...document.querySelectorAll('.chart')].at(-1)"
        ".querySelectorAll(selector).length === count",
        arg=[LINES, before - 1],
    )
    assert "triton_row" not in view.locator(".readout").inner_text()
    page.locator("[data-all=true]").click()
    page.wait_for_function(
        "([selector, count]) => [...document.querySelectorAll('.chart')].at(-1)"
        ".querySelectorAll(selector).length === count",
        arg=[LINES, before],
    )


def test_the_arrow_keys_read_the_values(opened):
    page = opened()
    page.locator("#chooser [name=value]").select_option("time_us")
    chromium.drawn(page, 2)
    chart = page.locator(".chart", has_text="NVIDIA H200")
    chart.locator(".view").first.focus()
    page.keyboard.press("Home")
    assert "N = 256" in chart.locator(".readout").inner_text()
    page.keyboard.press("ArrowRight")
    lines = chart.locator(".readout li").all_inner_texts()
    times = {v: synthetic.time_us(v, 1024, 512, 4) for v in synthetic.VARIANTS}
    assert "N = 512" in chart.locator(".readout").inner_text()
    assert [line.split()[0] for line in lines] == sorted(times, key=times.get)
    page.keyboard.press("End")
    assert "N = 131072" in chart.locator(".readout").inner_text()


@pytest.mark.parametrize(("quantity", "unit"), [("time_us", 1), ("throughput_gbps", 2 * 1024 * 4)])
def test_the_copy_is_the_limit_of_time_and_of_throughput(opened, quantity, unit):
    page = opened()
    page.locator("#chooser [name=value]").select_option(quantity)
    chromium.drawn(page, 2)
    chart = page.locator(".chart", has_text="NVIDIA H200")
    assert "a copy of the same bytes" in chart.locator("figcaption").inner_text()
    assert chart.locator('.view path[stroke="#555555"]').count() == 1
    limits = page.evaluate(
        "PAGE.sets[0].panels.filter(p => p.gpu === 'h200').flatMap(p => limitsOf(p, linesOf(p)))"
    )
    copies = {n: synthetic.time_us("copy", 1024, n, 4) for n in synthetic.ONLINE_SIZES}
    expected = {n: us if unit == 1 else unit * n / us / 1000 for n, us in copies.items()}
    assert {line["N"]: line["value"] for line in limits} == pytest.approx(expected, rel=1e-6)


def test_the_mouse_reads_the_nearest_size(opened):
    page = opened()
    chart = page.locator(".chart", has_text="NVIDIA H200")
    chart.scroll_into_view_if_needed()
    box = chart.locator(".view svg").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 12, box["y"] + box["height"] / 2)
    assert "N = 131072" in chart.locator(".readout").inner_text()


@pytest.mark.parametrize("quantity", ["throughput_gbps", "time_us", "speedup", "of_copy"])
def test_every_quantity_of_every_set_is_drawn_and_described(opened, quantity):
    page = opened()
    page.locator("#chooser [name=value]").select_option(quantity)
    chromium.drawn(page, 2)
    heats = 0
    for turn, i in enumerate(range(page.locator("#chooser [name=set] option").count()), start=3):
        page.locator("#chooser [name=set]").select_option(str(i))
        chromium.drawn(page, turn)
        for label in page.locator(".view").evaluate_all("all => all.map(v => v.ariaLabel)"):
            assert label is None or "over N" in label
        heats += page.locator(".view.heat svg").count()
    assert (heats > 0) == (quantity == "speedup")


def test_colours_are_those_of_the_palette(opened):
    page = opened()
    used = page.locator(LINES).evaluate_all("all => all.map(p => p.getAttribute('stroke'))")
    looks = page.evaluate("Object.values(PAGE.looks).map(look => look.colour)")
    assert set(used) <= {*looks, "#555555"}
    assert len(set(used)) > 5
