"""Figures of one gpu, dtype and sweep: time and throughput over N, speed-up as a heat map."""

from analysis.figures.write import KINDS, write

__all__ = ["KINDS", "write"]
