"""NVIDIA's nvbench for Python (package cuda-bench): isolated launches, L2 flushed before each.

Its "cold" measurement holds the stream back until the launch is queued, so that events around it
see no launch cost, and stops once the standard deviation has settled and 0.5 s of kernel time are
spent, or after a timeout. Its defaults, but for two: ``batched=False`` leaves out its other
measurement, of calls back to back; and the timeout is 1 s a point, where nvbench's is 15 s, which
all kernels below about 30 µs would use up. They still get thousands of samples.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from . import summary

TIMEOUT_S = 1.0


def time_all(count: int, prepare: Callable, record: Callable, fail: Callable) -> None:
    """Time points 0 to ``count`` - 1.

    nvbench runs its benchmarks once per process, and gives their samples when all are done: so
    ``prepare(index)`` hands (call, x, out) of a point, ``record(index, found, cost_s)`` is called
    for all at the end, ``fail(index, reason)`` for those that raised.
    """
    from cuda import bench
    from cuda.bench.results import BenchmarkResult

    costs_s = {}

    def benchmark(state) -> None:
        index = state.get_int64("point")
        try:
            costs_s[index] = _sample(state, *prepare(index))
        except Exception as error:  # raised from here, it would end the other points, too
            state.skip(f"{type(error).__name__}: {error}")

    bench.register(benchmark).set_name("points").add_int64_axis("point", list(range(count)))
    with tempfile.TemporaryDirectory(prefix="nvbench-") as folder:
        path = Path(folder) / "points.json"
        options = ["--devices", "0", "--timeout", str(TIMEOUT_S), "--jsonbin", str(path)]
        bench.run_all_benchmarks(["nvbench", *options])
        for state in BenchmarkResult.from_json(path)["points"]:
            index = int(state.point["point"])
            if state.is_skipped or not state.samples:
                fail(index, state.skip_reason or "no samples")
            else:
                record(index, summary([1e6 * t for t in state.samples]), costs_s[index])


def _sample(state, call, x, out) -> float:
    """Let nvbench launch the call on its own stream; the seconds that it took."""
    import torch

    torch.cuda.synchronize()  # x was written on another stream
    begin = time.perf_counter()
    with torch.cuda.stream(torch.cuda.ExternalStream(state.get_stream().addressof())):
        state.exec(lambda launch: call(x, out), batched=False)
    seconds = time.perf_counter() - begin
    torch.cuda.synchronize()
    return seconds
