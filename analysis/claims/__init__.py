"""Check published claims on their own tables, then on every GPU with rows: results/claims.csv."""

from analysis.claims.sources import ALL
from analysis.claims.table import check, judge, read, write

__all__ = ["ALL", "check", "judge", "read", "write"]
