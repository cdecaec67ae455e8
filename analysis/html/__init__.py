"""results/report.html: the report as one page that needs nothing else, for people who look."""

from analysis.html.document import write

__all__ = ["write"]
