"""Check published claims on their own tables, then on every GPU with rows: results/claims.csv."""

from analysis.claims.table import CLAIMS, check, judge, read, write

__all__ = ["CLAIMS", "check", "judge", "read", "write"]
