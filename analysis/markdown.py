"""The blocks of a section, and their Markdown."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# A longer table is folded, so that a reader finds the sections after it.
LONG_TABLE = 60


class Prose(NamedTuple):
    """One paragraph; `text` may have emphasis (`**`) and code (backticks) of Markdown."""

    text: str


class Heading(NamedTuple):
    """The title of a part of a section, written as Prose is."""

    text: str


class Code(NamedTuple):
    """Commands for a shell."""

    text: str


class Table(NamedTuple):
    """`rows` of plain values under `columns`; `what` names the rows."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    what: str


Block = Prose | Heading | Table | Code


def render(blocks: Iterable[Block]) -> str:
    """Return the blocks of a section as Markdown, an empty line between them; "" for none."""
    texts = [_block(block) for block in blocks]
    return "\n\n".join(texts) + "\n" if texts else ""


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], what: str) -> str:
    """Return a Markdown table, folded under the summary `what` beyond LONG_TABLE rows."""
    lines = [columns, ["---"] * len(columns), *rows]
    text = "\n".join("| " + " | ".join(_cell(value) for value in line) + " |" for line in lines)
    return folded(f"{what} ({counted(len(rows), 'row')})", text) if len(rows) > LONG_TABLE else text


def folded(summary: str, text: str) -> str:
    """Return `text` under a summary that opens it with a click."""
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>"


def number(value: float, digits: int = 4) -> str:
    """Return a number with `digits` significant digits; "" for NaN.

    Only numbers below 1e-4 and from 1e9 on have an exponent.
    """
    if math.isnan(value):
        return ""
    if value == 0 or 1e-4 <= abs(value) < 1e9:
        decimals = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
        return f"{value:.{max(0, decimals)}f}"
    return f"{value:.{digits - 1}e}"


def with_interval(value: float, low: float, high: float) -> str:
    """Return `1.353 [1.350, 1.356]`; the interval only where there is one; "" for NaN."""
    if math.isnan(value):
        return ""
    if math.isnan(low) or math.isnan(high):
        return number(value)
    return f"{number(value)} [{number(low)}, {number(high)}]"


def span(values: Iterable[float]) -> str:
    """Return a range: `256`, or `256 … 131072`; fractions have three digits."""
    values = list(values)
    texts = [str(v) if float(v).is_integer() else number(v, 3) for v in (min(values), max(values))]
    return " … ".join(dict.fromkeys(texts))


def counts(values: Iterable[str], order: Sequence[str] = ()) -> str:
    """Return `2 crash, 3 ok`: how often each value occurs, sorted or in `order`."""
    times = Counter(values)
    return ", ".join(f"{times[value]} {value}" for value in order or sorted(times) if times[value])


def counted(count: int, noun: str) -> str:
    """Return `1 row`, `2 rows`, `2 matrices`."""
    plural = "matrices" if noun == "matrix" else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def _block(block: Block) -> str:
    match block:
        case Prose(text):
            return text
        case Heading(text):
            return f"### {text}"
        case Table(columns, rows, what):
            return table(columns, rows, what)
        case Code(text):
            return f"```sh\n{text}\n```"


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
