"""Read the fences of the project's Markdown."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SHELL = ("", "sh", "bash", "console")


class Fence(NamedTuple):
    """A fence: its language and its lines."""

    language: str
    text: str


def fences(path: Path) -> Iterator[Fence]:
    """Return the fences of a page, in order."""
    matches = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)
    return (Fence(language, text) for language, text in matches)


def commands(path: Path) -> list[str]:
    """Return the commands of a page in order, once each, on one line and without comments."""
    commands = []
    for fence in fences(path):
        if fence.language in SHELL:
            text = re.sub(r"\s*\\\n\s*", " ", fence.text)
            lines = (re.sub(r"(^|\s{2,})# .*", "", line).strip() for line in text.splitlines())
            commands += filter(None, lines)
    return list(dict.fromkeys(commands))
