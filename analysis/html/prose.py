"""The prose of the report as HTML: emphasis and code, and nothing else.

What stands in it comes from CSV files. Links, images and HTML of Markdown are therefore switched
off, not cleaned up afterwards: whatever looks like one stays text.
"""

from markdown_it import MarkdownIt
from markupsafe import Markup

_INLINE = MarkdownIt("zero").enable(["emphasis", "backticks"])


def inline(text: str) -> Markup:
    """`text` of blocks.Prose or blocks.Heading, without a surrounding paragraph."""
    return Markup(_INLINE.renderInline(text))
