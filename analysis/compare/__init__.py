"""Judge which points of two runs became faster or slower, and say so in Markdown."""

from analysis.compare.judgement import (
    BROKE,
    CLASSES,
    FASTER,
    SAME,
    SLOWER,
    UNCLEAR,
    Comparison,
    Limits,
    compare,
    counts,
    judge,
    verdict,
)
from analysis.compare.runs import load_run
from analysis.compare.text import to_markdown

__all__ = ["BROKE", "CLASSES", "FASTER", "SAME", "SLOWER", "UNCLEAR", "Comparison", "Limits"]
__all__ += ["compare", "counts", "judge", "load_run", "to_markdown", "verdict"]
