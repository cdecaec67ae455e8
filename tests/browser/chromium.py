"""Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

PROGRAM = shutil.which("chromium")


def lacks() -> str:
    """Why no browser can be started here; "" where one can."""
    return "" if PROGRAM else "there is no chromium; on Debian: apt-get install chromium"


@contextmanager
def running() -> Iterator[Browser]:
    """A browser without a window. Its sandbox is off: in containers, as root, it cannot start."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        yield browser
        browser.close()
