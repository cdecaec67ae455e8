"""The page as a page: layout, light and dark, paper, keyboard, contrast."""

import re
from pathlib import Path

import pytest

from tests.analysis import synthetic
from tests.browser import made
from tests.marks import slow

pytestmark = pytest.mark.xdist_group("browser")
UNFOLD = "document.querySelectorAll('details').forEach(d => d.open = true)"
# functions of JavaScript, beside this file
OVERLAPS, CONTRAST, FOCUSED = (
    Path(__file__).with_name(f"{name}.js").read_text(encoding="utf-8")
    for name in ("overlaps", "contrast", "focused")
)


def test_on_a_phone_the_answer_is_above_the_fold_and_the_header_shows_every_link(opened, recorded):
    page = opened(375, 812, path=recorded[1])
    assert page.locator("header").bounding_box()["height"] < 60, "two lines"
    boxes = [link.bounding_box() for link in page.locator("nav a").all()]
    assert all(box["x"] + box["width"] <= 375 for box in boxes)
    for part in ("#winner", "#graph", "#eager", "#lead"):
        box = page.locator(part).bounding_box()
        assert box["height"] > 0, part
        assert box["y"] + box["height"] < 812, part


# A phone's width, where there is the least room; the others are a tablet's and a desk's.
@pytest.mark.parametrize("width", [375, slow(768), slow(1440)])
def test_nothing_overlaps_and_the_page_is_not_wider_than_the_screen(opened, width):
    page = opened(width)
    for change in ("", UNFOLD):
        page.evaluate(change)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize(("scheme", "width"), [("dark", 375), slow("light", 1440)])
def test_text_has_enough_contrast(opened, scheme, width):
    page = opened(width, color_scheme=scheme)
    page.evaluate(UNFOLD)
    page.locator("#chooser [name=all]").check()
    page.locator("[name=N]").fill("0")
    seen, faults = page.evaluate(CONTRAST)
    assert seen > 200
    assert faults == []


def test_the_keyboard_reaches_everything_and_the_focus_is_seen(opened):
    page = opened()
    count, *_ = page.evaluate(FOCUSED)
    for expected in range(count):
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUSED) == [count, expected, True], "in the order of the page"


def test_tables_figures_and_controls_have_names(opened):
    page = opened()
    assert page.locator("table:not([aria-label] > *), table:not(:has(th[scope=col]))").count() == 0
    assert page.locator("[role=region]:not([aria-label])").count() == 0
    assert "over N" in page.locator("#plot svg").get_attribute("aria-label")
    assert page.locator("img:not([alt])").count() == 0
    unnamed = "all => all.filter(e => !e.labels.length && !e.ariaLabel).length"
    assert page.locator("select, input").evaluate_all(unnamed) == 0
    empty = "all => all.filter(e => !e.textContent.trim()).length"
    assert page.locator("button, a, summary, h1, h2").evaluate_all(empty) == 0


def test_without_javascript_the_answers_are_tables_and_nothing_is_empty(opened):
    page = opened(java_script_enabled=False)
    for part in ("#question", "#reply", "#behind", "#chooser", "#plot", "#filter", "#rows"):
        assert not page.locator(part).is_visible(), part
    assert "triton_persistent" in page.locator("#best table").inner_text()
    assert page.locator("#grid table").first.is_visible()
    assert "make figures" in page.locator("#chart").inner_text()
    assert "measurements.csv" in page.locator("#data").inner_text()


def test_paper_has_at_most_two_pages_and_the_question(opened, recorded):
    page = opened(path=recorded[1])
    page.emulate_media(media="print")
    assert page.locator("#asked").is_visible()
    assert not page.locator("#question, #rows").first.is_visible()
    assert 1 <= len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4"))) <= 2


def test_a_page_of_2000_rows_is_small(recorded):
    data, path = recorded
    text = path.read_text(encoding="utf-8")
    payload = len(text[text.index('id="payload"') :])
    assert len(text) + payload * (2000 / len(data) - 1) < 600_000


def test_without_rows_there_is_still_the_literature(opened, tmp_path):
    page = opened(path=made.page(synthetic.frame_of([]), tmp_path))
    assert "To measure this machine" in page.locator(".note").first.inner_text()
    assert not page.locator("#question").is_visible()
    assert page.locator("#plot svg .line").count() > 0
