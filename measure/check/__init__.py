"""Check that outputs are correct, and that the kernel does not cheat.

Before timing ``correctness`` checks a call on the point's inputs against float64 (``tolerance``),
and ``edge_cases`` other values. After timing ``recheck`` checks the timed buffers and graphs.
``tamper`` watches what timing and checks depend on, ``plain_aten`` the baseline.
"""
