"""The table of all rows: searching and sorting."""

import pytest

from tests.browser import made

pytestmark = pytest.mark.xdist_group("browser")


def column(page, name):
    names = page.locator("#table thead th").all_inner_texts()
    at = [text.rstrip(" ↑↓") for text in names].index(name)
    return page.locator(f"#table tbody tr > :nth-child({at + 1})").all_inner_texts()


def test_every_row_is_there_and_search_finds_those_with_all_words(opened):
    page = opened()
    total = len(made.rows())
    page.wait_for_function("document.querySelectorAll('#table tbody tr').length === 100")
    assert page.locator("#row-count").inner_text() == f"{total} of {total} rows"
    while page.locator("#more").is_visible():
        page.locator("#more").click()
    assert page.locator("#table tbody tr").count() == total
    assert sorted(column(page, "variant")) == sorted(row["variant"] for row in made.rows())

    page.locator("#search").fill("Triton_Row 512 float32 a100")
    assert page.locator("#row-count").inner_text().startswith("1 of ")
    page.locator("#search").fill("512")
    assert set(column(page, "N")) == {"512"}, "a number is a whole word"
    page.locator("#search").fill("no such row")
    assert page.locator("#table tbody tr").count() == 0


def test_columns_sort_both_ways_and_unknown_comes_last(opened):
    page = opened()
    page.locator("#search").fill("log_softmax")
    head = page.locator("#table thead th", has_text="time (µs)")
    for order, backwards in (("ascending", False), ("descending", True)):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == order
        times = column(page, "time (µs)")
        assert times[-1] == "", "the row that crashed"
        values = [float(text) for text in times if text]
        assert len(values) == 4
        assert values == sorted(values, reverse=backwards)
    page.locator("#table thead button", has_text="variant").click()
    assert column(page, "variant") == sorted(column(page, "variant"))
    assert head.get_attribute("aria-sort") == "none"


def test_what_a_row_says_is_text(opened):
    page = opened()
    page.locator("#search").fill("crash")
    assert column(page, "message") == [made.MARKUP]
    assert page.evaluate("window.evil") is None
    assert (
        page.locator("img:not([src^=data]), script[src], #best-sets i, main a[href^=http]").count()
        == 0
    )
    assert made.NAME.replace("**", "") in page.locator("#best-sets h3").first.inner_text()
