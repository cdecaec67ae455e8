"""What a section of the report is made of, before it becomes Markdown or HTML."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Prose:
    """One paragraph. `text` knows emphasis (`**`) and code (backticks) of Markdown, no more."""

    text: str


@dataclass(frozen=True)
class Heading:
    """The title of a part of a section, written as Prose is."""

    text: str


@dataclass(frozen=True)
class Table:
    """`rows` of plain values under `columns`; `what` says in a few words what they are."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    what: str


@dataclass(frozen=True)
class Code:
    """Commands for a shell."""

    text: str


Block = Prose | Heading | Table | Code
