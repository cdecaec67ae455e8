"""The first screen of a report as a picture, for the README. By hand:

python3 -m tests.browser.screenshots results/recorded/report.html docs/figures

Writes report_1440.png, a screen of a desk, light, and report_375.png, one of a phone, dark.
"""

import sys
from pathlib import Path

from tests.browser import chromium

SCREENS = {1440: (900, "light"), 375: (1000, "dark")}  # width -> height, colours


def main(page: Path, folder: Path) -> None:
    if reason := chromium.lacks():
        sys.exit(f"error: {reason}")
    with chromium.running() as browser:
        for width, (height, scheme) in SCREENS.items():
            size = {"width": width, "height": height}
            opened = browser.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
            opened.goto(page.resolve().as_uri())  # the question with which the page opens
            opened.wait_for_selector(".js")
            opened.screenshot(path=folder / f"report_{width}.png")
            print(folder / f"report_{width}.png")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python3 -m tests.browser.screenshots PAGE FOLDER")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
