"""Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

PACKAGE = "chromium"
PROGRAM = shutil.which("chromium")
DRAWN_MS = 30_000  # for the figures to be there, on a busy machine


def lacks() -> str:
    """Why no browser can be started here; "" where one can."""
    return "" if PROGRAM else f"there is no chromium; on Debian: apt-get install {PACKAGE}"


@contextmanager
def running() -> Iterator[Browser]:
    """A browser without a window. Its sandbox is off: in containers, as root, it cannot start."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        yield browser
        browser.close()


def drawn(page: Page, turn: int = 1) -> None:
    """Wait until the figures have been drawn so many times."""
    page.wait_for_selector(f'html[data-drawn="{turn}"]', timeout=DRAWN_MS)
