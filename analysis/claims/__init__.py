"""Published claims: recomputed from their own tables, then checked on every GPU with rows."""

from analysis.claims.table import COLUMNS, check, read, write

__all__ = ["COLUMNS", "check", "read", "write"]
