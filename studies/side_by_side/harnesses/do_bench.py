"""``triton.testing.do_bench``: event pairs around single calls, L2 flushed before each.

Its defaults: 25 ms of warm-up, 100 ms of calls. ``return_mode="all"`` hands the samples whose
median ``return_mode="median"`` would hand.
"""

from . import summary


def time_us(call, x, out) -> dict:
    from triton.testing import do_bench

    times_ms = do_bench(lambda: call(x, out), return_mode="all")
    return summary([1000 * t for t in times_ms])
