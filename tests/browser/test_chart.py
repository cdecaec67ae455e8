"""The chart can be chosen, filtered, pointed at, and read with the keyboard and as a table."""

import pytest

from tests.analysis import synthetic
from tests.browser import made

pytestmark = pytest.mark.xdist_group("browser")
SHOWN = "online_softmax: float32, softmax, M = 1024, uniform input"


def choose(page, place, label=SHOWN, quantity="throughput_gbps"):
    page.locator("#chooser [name=value]").select_option(quantity)
    group = page.locator("#chooser optgroup").filter(has=page.locator("option", has_text=label))
    names = group.evaluate_all("all => all.map(each => each.label)")
    (at,) = (i for i, name in enumerate(names) if name.startswith(place))
    value = group.nth(at).locator("option", has_text=label).first.get_attribute("value")
    page.locator("#chooser [name=chart]").select_option(value=value)


def test_gpus_and_kernels_can_be_chosen(opened):
    page = opened()
    choose(page, made.NAME)
    assert made.NAME in page.locator("#chart-title").inner_text()
    published = page.locator("#plot .line.published")
    assert published.count() > 0, "published times stand beside a GPU's rows"
    choose(page, "NVIDIA H200")
    lines = page.locator("#plot .line")
    assert lines.count() == len(synthetic.VARIANTS)
    page.locator('#kernels input[value="triton_row"]').uncheck()
    assert lines.count() == len(synthetic.VARIANTS) - 1
    for part in ("#values", "#numbers", "#plot"):
        assert "triton_row" not in page.locator(part).text_content()
    page.locator("[data-all='']").click()
    assert lines.count() == 0
    assert "switched off" in page.locator("#chart-note").inner_text()
    page.locator("[data-all=true]").click()
    assert lines.count() == len(synthetic.VARIANTS)
    page.locator('#kernels label[data-label="triton_row"]').hover()
    assert page.locator("#plot .line:not(.behind)").get_attribute("data-label") == "triton_row"


def test_keys_mouse_and_table_read_the_values(opened):
    page = opened()
    choose(page, "NVIDIA H200", quantity="time_us")
    values, plot = page.locator("#values"), page.locator("#plot")
    plot.scroll_into_view_if_needed()
    end = plot.locator(".line .point").last.bounding_box()
    page.mouse.move(end["x"], end["y"])
    assert "N = 131072" in values.inner_text()
    plot.focus()
    page.keyboard.press("Home")
    assert "N = 256" in values.inner_text()
    page.keyboard.press("ArrowRight")
    times = {v: synthetic.time_us(v, 1024, 512, 4) for v in synthetic.VARIANTS}
    assert "N = 512" in values.inner_text()
    lines = values.locator("li").all_inner_texts()
    assert [line.split()[0] for line in lines] == sorted(times, key=times.get)
    titles = page.locator("#plot .line[data-label=triton_row] title").all_text_contents()
    assert titles[1].startswith(f"triton_row, N = 512, M = 1024: {times['triton_row']:.4g}")
    page.locator(".chart summary").click()
    head = page.locator("#numbers thead th").all_inner_texts()
    row = page.locator("#numbers tbody tr").nth(1).locator("th, td").all_inner_texts()
    at = dict(zip(head, row, strict=True))
    assert at.pop("N") == "512"
    assert {name: float(text.split()[0]) for name, text in at.items()} == pytest.approx(
        times, rel=1e-3
    )
