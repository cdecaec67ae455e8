"""``torch.utils.benchmark.Timer.blocked_autorange``: the host's clock around blocks of calls.

Its defaults: blocks so long that the clock and the synchronisation are below 0.01 % of them, and
0.2 s of blocks; that is often one block only. L2 is not flushed.
"""

from . import summary


def time_us(call, x, out) -> dict:
    from torch.utils.benchmark import Timer

    timer = Timer("call(x, out)", globals={"call": call, "x": x, "out": out})
    measured = timer.blocked_autorange()
    return summary([1e6 * t for t in measured.times]) | {"time_us": 1e6 * measured.median}
