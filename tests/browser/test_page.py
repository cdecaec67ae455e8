"""The page as a page: layout, light and dark, paper, keyboard, contrast."""

from pathlib import Path

import pytest

from tests.browser import made
from tests.marks import slow

pytestmark = pytest.mark.xdist_group("browser")
UNFOLD = "document.querySelectorAll('details').forEach(d => d.open = true)"
# functions of JavaScript, beside this file
OVERLAPS, CONTRAST, NUMBERED, FOCUSED = (
    Path(__file__).with_name(f"{name}.js").read_text()
    for name in ("overlaps", "contrast", "numbered", "focused")
)


# A phone's width, where there is the least room; the others are a tablet's and a desk's.
@pytest.mark.parametrize("width", [375, slow(768), slow(1440)])
def test_nothing_overlaps_and_the_page_is_not_wider_than_the_screen(opened, width):
    page = opened(width)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert page.evaluate(OVERLAPS) == []
    page.evaluate(UNFOLD)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert page.evaluate(OVERLAPS) == []


# Dark colours are those that were chosen last; light ones are the browser's own.
@pytest.mark.parametrize(("scheme", "width"), [("dark", 375), slow("light", 1440)])
def test_text_has_enough_contrast(opened, scheme, width):
    page = opened(width, color_scheme=scheme)
    page.evaluate(UNFOLD)
    page.locator("[name=N]").fill("0")
    seen, faults = page.evaluate(CONTRAST)
    assert seen > 500
    assert faults == []


def test_the_theme_is_the_systems_until_chosen_and_then_kept(opened):
    page = opened(color_scheme="dark", reduced_motion="reduce")
    assert page.locator("#meter").evaluate("e => getComputedStyle(e).transitionDuration") == "0s"
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)
    for _ in range(4):  # Chromium forgets what was stored at 1 of 100 reloads (14 of 1,800 tried)
        page.locator("#theme").select_option("light")
        light = page.evaluate(colour)
        assert light != dark
        page.reload()
        if page.evaluate(colour) == light:
            break
    assert page.evaluate(colour) == light
    page.locator("#theme").select_option("")
    assert page.evaluate(colour) == dark
    page.emulate_media(color_scheme="light")
    assert page.evaluate(colour) == light


def test_the_keyboard_reaches_everything_and_the_focus_is_seen(opened):
    page = opened()
    count = page.evaluate(NUMBERED)
    reached, unseen = [], []
    for _ in range(2 * count):
        page.keyboard.press("Tab")
        number, seen = page.evaluate(FOCUSED)
        if not reached:
            assert page.locator(".skip").is_visible(), "the first stop skips to the content"
        elif number == reached[0]:
            break
        reached.append(number)
        if not seen:
            unseen.append(number)
    numbers = [number for number in reached if number >= 0]
    assert sorted(set(numbers)) == list(range(count))
    assert numbers == sorted(numbers), "in the order of the page"
    assert unseen == []
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"


def test_tables_figures_and_controls_have_names(opened):
    page = opened()
    assert page.locator("table:not(:has(caption)), table:not(:has(th[scope=col]))").count() == 0
    assert page.locator("[role=region]:not([aria-label])").count() == 0
    assert "over N" in page.locator("#plot svg").get_attribute("aria-label")
    assert page.locator("img:not([alt])").count() == 0
    unnamed = "all => all.filter(e => !e.labels.length && !e.ariaLabel).length"
    assert page.locator("select, input").evaluate_all(unnamed) == 0
    empty = "all => all.filter(e => !e.textContent.trim()).length"
    assert page.locator("button, a, summary, h1, h2, h3").evaluate_all(empty) == 0


def test_without_javascript_nothing_is_empty_or_looks_like_an_answer(opened):
    page = opened(java_script_enabled=False)
    for part in ("#picker", "#answer", ".ranking", "#chooser", ".chart", "#search", "#table"):
        assert not page.locator(part).is_visible(), part
    assert page.locator("#rows .print-only").is_visible()
    assert page.locator("#overview img").is_visible()
    assert "results/figures" in page.locator("#figures").inner_text()


def test_without_rows_there_is_still_the_literature(opened, tmp_path):
    page = opened(path=made.write([], tmp_path))
    assert "No rows were measured or recorded" in page.locator(".first").inner_text()
    assert page.locator("#plot svg .line").count() > 0
    assert page.locator(".card").count() > 5
