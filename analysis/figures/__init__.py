"""Figures of one gpu, dtype and sweep.

Time and throughput over N, speed-up as a heat map, and published beside measured times as bars.
"""

from analysis.figures.write import BARS, KINDS, OVER_N, write

__all__ = ["BARS", "KINDS", "OVER_N", "write"]
