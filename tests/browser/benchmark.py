"""How large the page is, and how soon it is there. By hand: python3 -m tests.browser.benchmark

Writes the pages of 200, 2,000 and 10,000 rows below a temporary folder, opens each RUNS times in a
new browser, and prints medians: of the first paint, of the end of loading, and of all figures.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.browser import chromium, made

RUNS = 7
TIMES = """() => [
  performance.getEntriesByName("first-contentful-paint")[0].startTime,
  performance.getEntriesByType("navigation")[0].loadEventEnd,
]"""


def main() -> None:
    if reason := chromium.lacks():
        sys.exit(f"error: {reason}")
    for count in (200, 2_000, 10_000):
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            path = made.write(made.many(count), Path(folder))
            wrote = time.monotonic() - started
            size = path.stat().st_size / 1e6
            found = [_opened(path) for _ in range(RUNS)]
        paint, load, drawn = (statistics.median(column) for column in zip(*found, strict=True))
        print(
            f"{count} rows: written in {wrote:.1f} s, {size:.2f} MB; "
            f"first paint {paint:.0f} ms, loaded {load:.0f} ms, figures {drawn:.0f} ms"
        )


def _opened(path: Path) -> tuple[float, float, float]:
    """Milliseconds from the start of loading to the first paint, the load event, the figures."""
    with chromium.running() as browser:
        page = browser.new_page()
        page.goto(path.as_uri())
        chromium.drawn(page)
        drawn = page.evaluate("performance.now()")
        return (*page.evaluate(TIMES), drawn)


if __name__ == "__main__":
    main()
