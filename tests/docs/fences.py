"""What stands in fences of the project's Markdown."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from measure.fingerprint import ROOT

SHELL = ("", "sh", "bash", "console")


class Fence(NamedTuple):
    """One fence: its language and its lines."""

    language: str
    text: str


def pages() -> list[Path]:
    """README.md, CONTRIBUTING.md and the pages of docs/."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def fences(path: Path) -> Iterator[Fence]:
    """The fences of a page, in order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)
    return (Fence(language, text) for language, text in found)


def commands(path: Path) -> list[str]:
    """The commands of a page, in order and once each, on one line and without remarks."""
    found = []
    for fence in fences(path):
        if fence.language in SHELL:
            text = re.sub(r"\s*\\\n\s*", " ", fence.text)
            lines = (re.sub(r"(^|\s{2,})# .*", "", line).strip() for line in text.splitlines())
            found += filter(None, lines)
    return list(dict.fromkeys(found))
