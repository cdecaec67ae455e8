"""The templates of the page, and what they ask about the blocks of a section."""

import re
from pathlib import Path

import jinja2

from analysis.html import prose
from analysis.report import markdown
from analysis.report.blocks import Block, Heading, Prose, Table

PAGE = Path(__file__).resolve().parent / "page"
# Cells of more letters than this are set on several lines; a name or an interval never is.
WORDY = 48
# as the report writes one: with a unit, an interval, a remark, or as a span; or not applicable
NUMBER = re.compile(r"([-+.\de]+( %)?( \[[^]]*\])?( \(.*\))?( … \d+)?)?")


def environment() -> jinja2.Environment:
    """Templates of page/: whatever they are given is text, unless it is Markup."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["inline"] = prose.inline
    made.tests["long"] = lambda rows: len(rows) > markdown.LONG_TABLE
    made.filters["numeric"] = _numeric
    made.filters["parts"] = _parts
    made.filters["counted"] = markdown.counted
    made.tests["wordy"] = lambda value: len(str(value)) > WORDY
    made.filters["kind"] = lambda block: type(block).__name__
    return made


def _numeric(block: Table) -> list[bool]:
    """For each column of a table whether its values are numbers, which are set flush right."""
    return [
        all(NUMBER.fullmatch(str(value)) for value in values)
        for values in zip(*block.rows, strict=True)
    ]


def _parts(blocks: list[Block]) -> list[list[Block]]:
    """The blocks of the verdict, cut behind every heading and table."""
    found: list[list[Block]] = []
    for block in blocks:
        last = found[-1][-1] if found else None
        if isinstance(block, Heading) or not isinstance(last, Prose):
            found.append([])
        found[-1].append(block)
    return found
