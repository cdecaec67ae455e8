"""A browser for all tests of the page, and the page, which may ask for nothing."""

import os
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from tests.analysis import synthetic
from tests.browser import chromium, made
from tools import results

expect.set_options(timeout=30_000)  # that of all other calls of Playwright


@pytest.fixture(scope="session")
def browser():
    if reason := chromium.lacks():
        if os.environ.get("CI"):
            pytest.fail(f"{reason}; CI is set, and .ci/run installs what is needed")
        pytest.skip(reason)
    with chromium.running() as running:
        yield running


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """The page of made.rows()."""
    return made.page(synthetic.frame_of(made.rows()), tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """The measurements of all recorded rows, and their page."""
    data = results.recorded()
    return data, made.page(data, tmp_path_factory.mktemp("recorded"))


@pytest.fixture
def opened(browser, report):
    """Function that opens a page; it must ask for nothing but itself, and have nothing to say."""
    with ExitStack() as stack:
        heard: list[str] = []
        asked: set[str] = set()
        opened_files: set[str] = set()

        def open_page(width=1440, height=900, path=report, asks="", **options):
            context = browser.new_context(viewport={"width": width, "height": height}, **options)
            stack.callback(context.close)
            page = context.new_page()
            page.on("console", lambda message: heard.append(f"{message.type}: {message.text}"))
            page.on("pageerror", lambda error: heard.append(f"error: {error}"))
            page.on("request", lambda request: asked.add(request.url.split("#")[0]))
            opened_files.add(path.as_uri())
            # A question asked of a document that is open would race with what its script writes.
            page.goto(path.as_uri() + asks)
            if options.get("java_script_enabled", True):
                page.wait_for_selector(".js")  # the script has read its data
                page.evaluate("new Promise(requestAnimationFrame)")  # and chosen the first chart
            return page

        yield open_page
        assert heard == []
        assert asked == opened_files
