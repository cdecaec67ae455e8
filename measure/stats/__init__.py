"""Turn samples into statistics: intervals, derived columns, flags."""
