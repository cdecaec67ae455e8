"""Read the fences of the project's Markdown."""

import re
from collections.abc import Iterator
from pathlib import Path

from measure import ROOT
from tools import inserts

SHELL = ("", "sh", "bash", "console")
# README.md and docs/ without the notebook, which is for maintainers, and the captions of figures.
ALL_PAGES = [str(path.relative_to(ROOT)) for path in inserts.pages()]
USER_PAGES = [
    page
    for page in ALL_PAGES
    if page == "README.md" or re.match("docs/(?!notebook/|gallery.md)", page)
]


def fences(path: Path) -> Iterator[tuple[str, str]]:
    """Return the language and the text of each fence of a page, in order."""
    yield from re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


def commands(path: Path) -> list[str]:
    """Return the commands of a page in order, once each, on one line and without comments."""
    commands = []
    for language, text in fences(path):
        if language in SHELL:
            text = re.sub(r"\s*\\\n\s*", " ", text)
            lines = (re.sub(r"(^|\s{2,})# .*", "", line).strip() for line in text.splitlines())
            commands += filter(None, lines)
    return list(dict.fromkeys(commands))
