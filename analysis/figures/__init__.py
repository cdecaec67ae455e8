"""Figures of one gpu, dtype and sweep, and one page of all.

Time and throughput over N, speed-up as a heat map, and published beside measured times as points;
the overview has the fraction of the copy's speed over N, of everything that was timed.
"""

from analysis.figures.write import BARS, KINDS, OVER_N, OVERVIEW, write, write_overview

__all__ = ["BARS", "KINDS", "OVERVIEW", "OVER_N", "write", "write_overview"]
