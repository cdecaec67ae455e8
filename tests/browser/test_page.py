"""The page as a page: layout, light and dark, paper, keyboard, contrast."""

import re
from pathlib import Path

import pytest

from tests.analysis import synthetic
from tests.browser import chromium, made

pytestmark = pytest.mark.xdist_group("browser")
WIDTHS = [375, 768, 1440]
A4 = 688  # pixels between margins of 14 mm
# functions of JavaScript, beside this file
OVERLAPS, CONTRAST, NUMBERED, FOCUSED = (
    Path(__file__).with_name(f"{name}.js").read_text()
    for name in ("overlaps", "contrast", "numbered", "focused")
)


@pytest.mark.parametrize("quantity", ["throughput_gbps", "speedup"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overlaps_and_the_page_is_not_wider_than_the_screen(opened, width, quantity):
    page = opened(width)
    page.locator("#chooser [name=value]").select_option(quantity)
    chromium.drawn(page, 2)
    for unfolded in (False, True):
        page.evaluate(
            "open => document.querySelectorAll('details').forEach(d => d.open = open)", unfolded
        )
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("most", [2**15, 2**18])
def test_the_last_size_of_an_axis_is_whole_on_a_phone(opened, tmp_path, most):
    sizes = [2**i for i in range(8, most.bit_length())]
    page = opened(375, path=made.write(synthetic.sweep_rows(sizes, ["torch_softmax"]), tmp_path))
    assert page.evaluate(OVERLAPS) == []


def test_the_answer_is_on_the_first_screen(opened):
    page = opened(1440, 900)
    for part in ("#winner", "#over", "#over-interval", "#of-copy", "#nearest", "#picker [name=N]"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] < 900


@pytest.mark.parametrize("width", [375, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(opened, scheme, width):
    page = opened(width, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.locator("[name=N]").fill("0")
    seen, faults = page.evaluate(CONTRAST)
    assert seen > 500
    assert faults == []


def test_the_theme_is_the_systems_until_chosen_and_then_kept(opened):
    page = opened(figures=False, color_scheme="dark")
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


def test_paper_is_white_and_has_no_controls(opened, tmp_path):
    page = opened(color_scheme="dark")
    ink = "getComputedStyle(document.body).color"
    dark = page.evaluate(ink)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(ink) != dark
    for part in (".bar", "#picker", "#chooser", "#search", "#table", "[data-all=true]"):
        assert not page.locator(part).first.is_visible(), part
    for part in ("#winner", "#verdict", ".card", ".chart svg", "#reproduce pre", "#kernels label"):
        assert page.locator(part).first.is_visible(), part
    folded = page.locator("details:not([open])").count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() < folded
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == folded
    page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert re.search(rb"/Type\s*/Pages\b[^>]*?/Count \d", (tmp_path / "page.pdf").read_bytes())


def test_a_wide_figure_fits_on_paper_and_says_what_it_shows(opened):
    page = opened()
    page.emulate_media(media="print")
    page.locator("#chooser [name=own]").evaluate("box => box.click()")  # one panel, full width
    chromium.drawn(page, 2)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    # no smaller window: at its resizing Vega would draw anew, as it does not for paper
    page.add_style_tag(content=f"main {{ width: {A4}px }}")
    (svg,) = page.locator("#panels .view svg").all()
    panel, drawn = page.locator(".chart").bounding_box(), svg.bounding_box()
    assert drawn["x"] + drawn["width"] <= panel["x"] + panel["width"]
    assert panel["width"] <= A4
    assert drawn["width"] >= 0.95 * float(svg.get_attribute("width")), "letters as large as drawn"
    label = page.locator("#chooser [name=set] option").first.inner_text()
    assert label in page.locator(".chart figcaption").inner_text()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert label not in page.locator(".chart figcaption").inner_text()


def test_the_keyboard_reaches_everything_and_the_focus_is_seen(opened):
    page = opened()
    count = page.evaluate(NUMBERED)
    reached, unseen = [], []
    for _ in range(2 * count):
        page.keyboard.press("Tab")
        number, seen = page.evaluate(FOCUSED)
        if reached and number == reached[0]:
            break
        reached.append(number)
        if not seen:
            unseen.append(number)
    numbers = [number for number in reached if number >= 0]
    assert sorted(set(numbers)) == list(range(count))
    assert numbers == sorted(numbers), "in the order of the page"
    assert unseen == []


def test_the_first_stop_skips_to_the_content(opened):
    page = opened(figures=False)
    page.keyboard.press("Tab")
    assert page.locator(".skip").is_visible()
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"


def test_tables_figures_and_controls_have_names(opened):
    page = opened()
    page.locator("#chooser [name=value]").select_option("speedup")
    chromium.drawn(page, 2)
    assert page.locator("table:not(:has(caption)), table:not(:has(th[scope=col]))").count() == 0
    assert page.locator("[role=region]:not([aria-label])").count() == 0
    names = page.locator(".view:has(svg)").evaluate_all("all => all.map(s => s.ariaLabel)")
    assert names
    assert all(name for name in names)
    unnamed = "all => all.filter(e => !e.labels.length && !e.ariaLabel).length"
    assert page.locator("select, input").evaluate_all(unnamed) == 0
    empty = "all => all.filter(e => !e.textContent.trim()).length"
    assert page.locator("button, a, summary, h1, h2, h3").evaluate_all(empty) == 0


def test_nothing_moves_for_who_wants_that(opened):
    page = opened(figures=False, reduced_motion="reduce")
    assert (
        page.evaluate("getComputedStyle(document.querySelector('#meter')).transitionDuration")
        == "0s"
    )
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


def test_without_javascript_nothing_is_empty_or_looks_like_an_answer(opened):
    page = opened(figures=False, java_script_enabled=False)
    for part in ("#picker", "#answer", ".ranking", "#chooser", "#panels", "#search", "#table"):
        assert not page.locator(part).is_visible(), part
    assert page.locator("#rows .print-only").is_visible()
    assert "results/figures" in page.locator("#figures").inner_text()


def test_rows_of_a_table_are_of_one_height_on_a_phone(opened):
    page = opened(375, figures=False)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    uneven = """all => all.filter(t => !t.querySelector('.wordy')
      && new Set([...t.tBodies[0].rows].map(r => Math.round(r.offsetHeight))).size > 1
    ).map(t => t.caption.textContent)"""
    assert page.locator("table:not(#table)").evaluate_all(uneven) == []
    assert "(1 rows)" not in page.locator("main").inner_text()
    heights = "all => all.map(name => name.offsetHeight)"
    assert len(set(page.locator("#ranking .who").evaluate_all(heights))) == 1


def test_without_rows_there_is_still_the_literature(opened, tmp_path):
    page = opened(path=made.write([], tmp_path))
    assert "No rows were measured or recorded" in page.locator(".first").inner_text()
    assert page.locator("#panels figure").count() > 0
    assert page.locator(".card").count() > 5


def test_two_thousand_rows_are_shown_and_searched(opened, tmp_path):
    path = made.write(made.many(2000), tmp_path)
    assert path.stat().st_size <= 5_000_000
    page = opened(path=path)
    page.locator("#search").fill("triton_row 1280")
    assert page.locator("#row-count").inner_text() == "1 of 2000 rows"


def test_the_checks_above_find_faults(opened):
    page = opened()
    page.add_style_tag(content=".quiet { color: #aaa } .answer { margin-right: -3rem }")
    assert page.evaluate(CONTRAST)[1]
    assert any("over DIV" in fault for fault in page.evaluate(OVERLAPS))
    page.add_style_tag(content=".view text { font-size: 4rem }")
    assert any("is cut off" in fault for fault in page.evaluate(OVERLAPS))
