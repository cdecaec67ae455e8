"""Samples to statistics: sampling, intervals, derived metrics."""
