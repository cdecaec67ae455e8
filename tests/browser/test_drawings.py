"""The figures can be filtered, pointed at, and read with the keyboard."""

import pytest

from tests.analysis import synthetic
from tests.browser import chromium, made
from tests.marks import slow

pytestmark = pytest.mark.xdist_group("browser")
LINES = ".view .mark-line.role-mark path"


def test_gpus_sources_and_kernels_can_be_chosen(opened):
    page = opened()
    page.locator("#chooser [name=set]").select_option(
        label="online_softmax: float32, softmax, M = 1024"
    )
    chromium.drawn(page, 2)
    panels = page.locator("#panels h3")
    a100, h200 = panels.all_inner_texts()[:2]
    assert a100.startswith(made.NAME)
    assert "published" in a100
    assert h200.startswith("NVIDIA H200")

    view = page.locator(".chart", has_text="NVIDIA H200")
    before = view.locator(LINES).count()
    drawn = (
        "([selector, count]) => [...document.querySelectorAll('.chart')].at(-1)"
        ".querySelectorAll(selector).length === count"
    )
    page.locator('#kernels input[value="triton_row"]').uncheck()
    page.wait_for_function(drawn, arg=[LINES, before - 1])
    assert "triton_row" not in view.locator(".readout").inner_text()
    page.locator("[data-all=true]").click()
    page.wait_for_function(drawn, arg=[LINES, before])

    page.locator("#chooser [name=own]").uncheck()
    page.wait_for_function("document.querySelectorAll('#panels h3').length === 1")
    page.locator("#chooser [name=published]").uncheck()
    page.wait_for_function("document.querySelectorAll('#panels figure').length === 0")
    assert "No row" in page.locator("#figure-note").inner_text()


def test_keys_and_mouse_read_the_values(opened):
    page = opened()
    chart = page.locator(".chart", has_text="NVIDIA H200")
    readout = chart.locator(".readout")
    chart.scroll_into_view_if_needed()
    box = chart.locator(".view svg").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 12, box["y"] + box["height"] / 2)
    assert "N = 131072" in readout.inner_text()
    page.mouse.move(0, 0)

    page.locator("#chooser [name=value]").select_option("time_us")
    chromium.drawn(page, 2)
    chart.locator(".view").first.focus()
    page.keyboard.press("Home")
    assert "N = 256" in readout.inner_text()
    page.keyboard.press("ArrowRight")
    times = {v: synthetic.time_us(v, 1024, 512, 4) for v in synthetic.VARIANTS}
    assert "N = 512" in readout.inner_text()
    lines = readout.locator("li").all_inner_texts()
    assert [line.split()[0] for line in lines] == sorted(times, key=times.get)
    page.keyboard.press("End")
    assert "N = 131072" in readout.inner_text()


# The heat map and one quantity over N, which are drawn by different code; the others differ from
# the latter by a column.
@pytest.mark.parametrize(
    "quantity", ["speedup", "time_us", slow("throughput_gbps"), slow("of_copy")]
)
def test_every_set_is_drawn_and_described(opened, quantity):
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
