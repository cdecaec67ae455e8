"""Turn samples into statistics: sampling, intervals, derived metrics."""
