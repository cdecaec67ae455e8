"""The chart and the table of rows can be chosen, searched, and read with the keyboard."""

import pytest
from playwright.sync_api import expect

from tests.analysis import synthetic
from tests.browser import made

pytestmark = pytest.mark.xdist_group("browser")


def choose(page, gpu, label, quantity):
    page.locator("#chooser [name=value]").select_option(quantity)
    option = page.locator("#chooser [name=chart] option", has_text=f"{gpu}, {label}").first
    page.locator("#chooser [name=chart]").select_option(value=option.get_attribute("value"))


def test_the_chart_shows_every_kernel_and_reads_its_values(opened):
    page = opened()
    choose(page, "NVIDIA H200", "softmax, float32, M = 1024", "time_us")
    lines = page.locator("#plot .line")
    assert lines.count() == len(synthetic.VARIANTS)
    grey = page.locator("#plot .line.grey")
    assert grey.count() == len(synthetic.VARIANTS) - 5
    assert page.locator('#plot .line:not(.grey)[data-label="torch_softmax"]').count() == 1
    page.locator("#chooser [name=all]").check()
    assert grey.count() == 0
    page.locator("#plot").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    times = {v: synthetic.time_us(v, 1024, 512, 4) for v in synthetic.VARIANTS}
    values = [each.split() for each in page.locator("#values span:not(.dot)").all_inner_texts()]
    assert [name for name, *_ in values] == sorted(times, key=times.get)
    assert {name: float(us) for name, us, _ in values} == pytest.approx(times, rel=1e-3)
    page.locator("#compare summary").click()
    head = page.locator("#numbers thead th").all_inner_texts()
    row = page.locator("#numbers tbody tr").nth(1).locator("th, td").all_inner_texts()
    assert dict(zip(head, row, strict=True))["N"] == "512"
    end = page.locator("#plot .line circle").last.bounding_box()
    page.mouse.move(end["x"], end["y"])
    assert "131072" in page.locator("#values").inner_text()


def test_published_tables_have_a_chart(opened):
    page = opened()
    choose(page, "a100 (published)", "softmax, float32, M = 1024", "speedup")
    assert page.locator("#plot .line").count() == 6
    assert "torch" in page.locator("#chart-note").inner_text()


def column(page, name):
    names = page.locator("#rows thead th").all_inner_texts()
    return page.locator(f"#rows td:nth-child({names.index(name) + 1})").all_inner_texts()


def test_every_row_is_there_and_search_finds_those_with_all_words(opened):
    page = opened()
    total, count = len(made.rows()), page.locator("#count")
    points = [(row["gpu"], row["op"], row["dtype"]) for row in made.rows()]
    own = points.count(("h200", "softmax", "float32"))
    expect(count).to_have_text(f"{own} of {total} rows")
    page.locator("#filter [name=own]").uncheck()
    assert page.locator("#rows tbody tr").count() == total
    for words, found in (("Triton_Row 1024x512 float32 a100", 1), ("crash", 1), ("no such row", 0)):
        page.locator("#filter [name=words]").fill(words)
        assert count.inner_text().startswith(f"{found} of "), words
    page.locator("#filter [name=words]").fill("512")
    assert {text.split()[-1] for text in column(page, "M × N")} == {"512"}  # noqa: RUF001


def test_text_of_a_csv_stays_text(opened):
    page = opened()
    page.locator("#filter [name=own]").uncheck()
    page.locator("#filter [name=words]").fill("crash")
    assert column(page, "message") == [made.MARKUP]
    assert page.evaluate("window.evil") is None
    assert page.locator("img, script[src], i, main a[href^=http]").count() == 0


def test_a_phone_shows_name_time_speed_up_and_share(opened):
    heads = [h for h in opened(375).locator("#rows thead th").all() if h.is_visible()]
    texts = [head.inner_text() for head in heads]
    assert texts == ["kernel", "time (µs)", "× torch", "of copy"]  # noqa: RUF001
    assert all(box["x"] + box["width"] <= 375 for box in map(type(heads[0]).bounding_box, heads))
