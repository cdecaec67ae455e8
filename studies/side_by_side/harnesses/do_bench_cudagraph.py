"""``triton.testing.do_bench_cudagraph``: replays of one graph of many calls on the same buffers.

Its defaults: a graph of 20 ms, replayed ten times; L2 is not flushed. Samples are means over the
calls of a replay; ``return_mode="all"`` hands those whose median "median" would hand.
"""

from . import summary


def time_us(call, x, out) -> dict:
    from triton.testing import do_bench_cudagraph

    times_ms = do_bench_cudagraph(lambda: call(x, out), return_mode="all")
    return summary([1000 * t for t in times_ms])
