"""Numbers, counts and tables as text: in Markdown, on the page, in figures and messages."""

import html
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

LONG_TABLE = 60  # lines; a longer table with a name is folded
NAMED = 3  # kernels of a list


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "") -> str:
    """Return a Markdown table; beyond LONG_TABLE rows, folded under `title`."""
    lines = [columns, ["---"] * len(columns), *rows]
    text = "\n".join("| " + " | ".join(_cell(value) for value in line) + " |" for line in lines)
    if not title or len(rows) <= LONG_TABLE:
        return text
    summary = f"{title} ({counted(len(rows), 'row')})"
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>"


def text(value: object) -> str:
    """Return a text of a row, such as a kernel's message, so that Markdown shows it as it is."""
    return re.sub(r"([\\`*\[])", r"\\\1", html.escape(str(value), quote=False))


def number(value: float, digits: int = 4) -> str:
    """Return a number with `digits` significant digits; "" for NaN.

    Only numbers below 1e-4 and from 1e9 on have an exponent.
    """
    if math.isnan(value):
        return ""
    if value == 0 or 1e-4 <= abs(value) < 1e9:
        # Rounding may have added a digit before the point, as of 9.9996.
        exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
        return f"{value:.{max(0, digits - 1 - exponent)}f}"
    return f"{value:.{digits - 1}e}"


def listed(names: Sequence[str]) -> str:
    """Return the names, of which those beyond NAMED are counted: `a, b, c and 2 more`."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def best_set(names: Sequence[str]) -> str:
    """Return the one fastest, or `tie: a, b, c and 2 more`."""
    return names[0] if len(names) == 1 else f"tie: {listed(names)}"


def percent(fraction: float, decimals: int = 0) -> str:
    """Return `43 %`."""
    return f"{100 * fraction:.{decimals}f} %"


def with_interval(value: float, low: float, high: float) -> str:
    """Return `1.353 [1.350, 1.356]`; the interval only where there is one; "" for NaN."""
    if math.isnan(value):
        return ""
    if math.isnan(low) or math.isnan(high):
        return number(value)
    return f"{number(value)} [{number(low)}, {number(high)}]"


def span(
    values: Collection[object], text: Callable[[object], str] = str, separator: str = " … "
) -> str:
    """Return the least and the largest, or the one that both are as text: `256 … 131072`, `256`."""
    return separator.join(dict.fromkeys(map(text, (min(values), max(values)))))


def counts(values: Iterable[str], order: Sequence[str] = ()) -> str:
    """Return `2 crash, 3 ok`: how often each value occurs, sorted or in `order`."""
    times = Counter(values)
    return ", ".join(f"{times[value]} {value}" for value in order or sorted(times) if times[value])


def counted(count: int, noun: str) -> str:
    """Return `1 row`, `2 rows`, `2 matrices`."""
    plural = "matrices" if noun == "matrix" else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
