"""The tools: each times points in this process, as its documentation tells its users to.

A tool returns a dict for each point: `samples` in µs per call and `cost_s`, the seconds that
they took, or `error`.
"""

import csv
import functools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from measure import ROOT

RESULTS = ("time_us", "low", "high", "n_samples", "cost_s")
ROW_COLUMNS = ("time_us", "time_us_q20", "time_us_q80", "n_samples", "wall_s")


class Point(NamedTuple):
    """A kernel and a float32 matrix of M rows and N columns."""

    variant: str
    M: int
    N: int


def prepare(point: Point) -> tuple:
    """Return (call, x, out) of a point, after one call: compiling is not timed."""
    import torch

    import kernels

    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.rand(point.M, point.N, device=device)
    out, call = torch.empty_like(x), kernels.load(point.variant).softmax
    call(x, out)
    if device == "cuda":
        torch.cuda.synchronize()
    return call, x, out


def one_by_one(time_us: Callable, points: list[Point]) -> list[dict]:
    """Time points with `time_us(call, x, out)`, which returns samples."""
    results = []
    for point in points:
        try:
            arguments = prepare(point)
            begin = time.perf_counter()
            samples = time_us(*arguments)
            results.append({"samples": samples, "cost_s": time.perf_counter() - begin})
        except Exception as error:
            results.append({"error": f"{type(error).__name__}: {error}"})
    return results


def do_bench(call, x, out) -> list[float]:
    """Time with event pairs around single calls, L2 flushed before each. Defaults: 100 ms."""
    from triton.testing import do_bench

    return [1000 * ms for ms in do_bench(lambda: call(x, out), return_mode="all")]


def do_bench_cudagraph(call, x, out) -> list[float]:
    """Time ten replays of one graph of 20 ms on the same buffers; a sample is a replay's mean."""
    from triton.testing import do_bench_cudagraph

    return [1000 * ms for ms in do_bench_cudagraph(lambda: call(x, out), return_mode="all")]


def blocked_autorange(call, x, out) -> list[float]:
    """Time blocks of calls with the host's clock, without a flush of L2. Defaults: 0.2 s."""
    from torch.utils.benchmark import Timer

    timer = Timer("call(x, out)", globals={"call": call, "x": x, "out": out})
    return [1e6 * seconds for seconds in timer.blocked_autorange().times]


def cupti(call, x, out) -> list[float]:
    """Read the GPU's own time stamps of 50 kernels, L2 flushed before each: the reference."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    cache_bytes = torch.cuda.get_device_properties(x.device).L2_cache_size
    flush = torch.empty(3 * cache_bytes, dtype=torch.int8, device=x.device)

    def run(calls: int) -> None:
        for _ in range(calls):
            flush.zero_()
            call(x, out)
        torch.cuda.synchronize()

    def trace(calls: int) -> list:
        with profile(activities=[ProfilerActivity.CUDA]) as events:
            run(calls)
        return list(events.events())

    trace(1)  # the first trace of a process sets up CUPTI
    end = time.perf_counter() + 0.1  # the first calls after a pause are slow
    while time.perf_counter() < end:
        run(1)
    return kernel_times_us(trace(50))


def kernel_times_us(events: list) -> list[float]:
    """Return the µs of each softmax kernel of a trace; the flush is another kernel."""
    from torch.autograd import DeviceType

    kernels = [event for event in events if event.device_type == DeviceType.CUDA]
    times = [k.time_range.elapsed_us() for k in kernels if "softmax" in k.name.lower()]
    if not times:
        names = ", ".join(sorted({kernel.name[:60] for kernel in kernels})) or "nothing"
        raise RuntimeError(f"CUPTI saw no kernel with 'softmax' in its name, but {names}")
    return times


def cuda_bench(points: list[Point]) -> list[dict]:
    """Time isolated launches with NVIDIA's nvbench, L2 flushed before each, all points at once.

    Two settings are not its defaults: no second measurement of calls back to back, and a time-out
    of 1 s a point instead of 15 s, which all kernels below about 30 µs would use up.
    """
    import torch
    from cuda import bench
    from cuda.bench.results import BenchmarkResult

    costs_s = {}

    def benchmark(state) -> None:
        index = state.get_int64("point")
        try:
            call, x, out = prepare(points[index])
            begin = time.perf_counter()
            with torch.cuda.stream(torch.cuda.ExternalStream(state.get_stream().addressof())):
                state.exec(lambda launch: call(x, out), batched=False)
            costs_s[index] = time.perf_counter() - begin
            torch.cuda.synchronize()
        except Exception as error:  # an exception that leaves here would end the other points
            state.skip(f"{type(error).__name__}: {error}")

    bench.register(benchmark).set_name("points").add_int64_axis("point", list(range(len(points))))
    results = [{"error": "nvbench has no samples"} for _ in points]
    with tempfile.TemporaryDirectory(prefix="nvbench-") as folder:
        path = Path(folder) / "points.json"
        options = ["--devices", "0", "--timeout", "1.0", "--jsonbin", str(path)]
        bench.run_all_benchmarks(["nvbench", *options])
        for state in BenchmarkResult.from_json(path)["points"]:
            index = int(state.point["point"])
            if state.is_skipped:
                results[index] = {"error": state.skip_reason}
            elif state.samples:
                samples = [1e6 * seconds for seconds in state.samples]
                results[index] = {"samples": samples, "cost_s": costs_s[index]}
    return results


def ours(points: list[Point]) -> list[dict]:
    """Measure points as a sweep does: a process and a row each. Rows have quantiles already."""
    results = []
    with tempfile.TemporaryDirectory(prefix="side-by-side-") as folder:
        output = Path(folder, "row.csv")
        for variant, M, N in points:
            options = f"--variant {variant} --M {M} --N {N} --output {output}"
            command = [sys.executable, "-m", "measure", "point", *options.split()]
            subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
            (row,) = csv.DictReader(output.read_text().splitlines())
            results.append(dict(zip(RESULTS, map(row.get, ROW_COLUMNS), strict=True)))
            if row["status"] != "ok":
                results[-1] = {"error": f"{row['status']}: {row['message']}"}
    return results


TOOLS = {  # in the order in which they take turns
    "do_bench": functools.partial(one_by_one, do_bench),
    "do_bench_cudagraph": functools.partial(one_by_one, do_bench_cudagraph),
    "blocked_autorange": functools.partial(one_by_one, blocked_autorange),
    "cuda_bench": cuda_bench,
    "cupti": functools.partial(one_by_one, cupti),
    "ours": ours,
}
