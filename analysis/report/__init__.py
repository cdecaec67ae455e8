"""results/report.md: verdict first, then the evidence for it."""

from analysis.report.document import write

__all__ = ["write"]
