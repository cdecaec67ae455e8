"""The address of the page is the question; one that asks for what is not there says so."""

import pytest
from playwright.sync_api import expect

from tests.browser.test_picker import values

pytestmark = pytest.mark.xdist_group("browser")


def test_the_question_is_in_the_address(opened):
    page = opened(asks="#h200/softmax/float16/1000x5000")
    assert values(page) == ["h200", "softmax", "float16", "1000", "5000"]
    page.locator("[name=N]").fill("4096")
    page.wait_for_url("**#h200/softmax/float16/1000x4096")
    assert page.locator("#link").get_attribute("href") == "#h200/softmax/float16/1000x4096"


def test_the_link_to_an_answer_says_what_it_did(opened):
    page = opened()
    page.locator("#link").click()
    expect(page.locator("#linked")).not_to_be_empty()
    assert page.locator("#linked").inner_text() in ("Copied.", "The address bar has the link.")


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("#a100x/softmax/float32/4x8", "no GPU “a100x” (choose a100, h200)"),
        ("#h200/softmin/float32/4x8", "no operation “softmin” (choose log_softmax, softmax)"),
        ("#h200/softmax/float23/4x8", "no element type “float23” (choose float32, "),
        ("#h200/softmax/float32/abcx12", "no size “abcx12” (write M x N"),
        ("#h200/softmax/float32/4x8/9", "no size “4x8/9”"),
        ("#a100x", "no GPU “a100x”"),
        ("#h200/softmax", "no element type (choose"),
        ("#compare-all", "no GPU “compare-all”"),
        ("#chart", ""),  # a section of the page
    ],
)
def test_an_address_that_asks_for_what_is_not_here_says_which_part(address, fault, opened):
    page = opened(asks=address)
    said = page.locator("#fault").inner_text()
    assert fault in said
    assert bool(said) == bool(fault)
    assert page.locator("#reply").is_visible() == (not fault), "no answer to another question"
    assert page.locator("#behind").is_visible() == (not fault)
    assert "undefined" not in page.locator("#answer").inner_text()
    page.locator("[name=N]").fill("256")
    assert page.locator("#fault").inner_text() == ""
    assert page.locator("#reply").is_visible()


def test_other_words_are_refused(opened):
    page = opened()
    for words in ("", "0", "-3", "1e3", "1.5", "N", "1" * 13):
        page.locator("[name=N]").fill(words)
        assert "whole numbers" in page.locator("#fault").inner_text()
        assert page.locator("[name=N]").get_attribute("aria-invalid") == "true"
    page.locator("[name=N]").fill("256")
    assert page.locator("#fault").inner_text() == ""
