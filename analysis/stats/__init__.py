"""Estimate the speed of variants over processes, with 95 % confidence intervals and tests.

The unit of replication is the process (Kalibera and Jones, ISMM 2013). Each process times torch
beside its variant; y = ln(torch / variant) is paired within it. For process i of a variant

    Var(y_i) = k² · within_i² + a² + (b / t)²

within: the standard error within the process. It follows from the row's interval, which is one
        of order statistics of blocks (Hahn and Meeker, Statistical Intervals, 2nd ed. 2017, 5.2).
k:      the factor, at least 1, by which the A/A intervals are too narrow (`spread.widening`).
a, b:   the spread between processes: a is relative, b is in µs per call, t is the time of a call.
        The ratio torch / copy, timed in every process of a board, shows both
        (`spread.process_spread`).

The spread between processes differs from matrix to matrix, and one process does not show it. Its
variance is taken as scaled inverse chi-square with d degrees of freedom, so y is t-distributed. The
sample variance of several processes is combined with that prior (Smyth, Statistical Applications in
Genetics and Molecular Biology 3(1), 2004).
"""

from analysis.stats.points import estimate, point_estimates
from analysis.stats.ratio import ALPHA, TIE, Estimate, benjamini_hochberg, geometric_mean, holm

__all__ = ["ALPHA", "TIE", "Estimate", "benjamini_hochberg"]
__all__ += ["estimate", "geometric_mean", "holm", "point_estimates"]
