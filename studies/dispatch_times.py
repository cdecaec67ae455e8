"""Time every config of the frontier's kernels on this GPU, for ``studies.dispatch``."""

import concurrent.futures
import csv
import gzip
import itertools
import multiprocessing
import random
import statistics
import sys
from pathlib import Path

import torch

import kernels
from kernels.contract import DTYPES, VEC_BYTES
from kernels.cuda import launch, nvrtc
from kernels.cuda.plan import LaunchPlan, Problem, widest_pack
from kernels.frontier import frontier
from measure import inputs
from measure.clock import graph

from .dispatch import Shape

COLUMNS = ["kind", "dtype", "M", "N", "variant", "us"]
ELEMENTS = 2**25, 2**21, 2**17  # memory, L2 and latency bound them
BLOCKS, INSTANCES = 6, 2
# Shorter than in a sweep, for there are ten thousand series: µs of a replay, trials before it.
REPLAY_US, TRIALS = 500.0, 3


def shapes(seed: int = 1) -> list[Shape]:
    """Return 4 N an octave, aligned and not, in three sizes of a matrix; powers of 2; random ones.

    Of the random ones N and M·N are log-uniform. A third of N is any, even, or a multiple of 8.
    """
    draw, found = random.Random(seed), []
    for dtype, quarter in itertools.product(("float32", "bfloat16"), range(3 * 4, 23 * 4)):
        cols, vector = int(2 ** ((quarter + draw.random()) / 4)), VEC_BYTES // DTYPES[dtype]
        aligned = cols // vector * vector or vector
        for N in (aligned, cols + (cols == aligned)):
            found += [("designed", dtype, elements // N or 1, N) for elements in ELEMENTS]
        if quarter % 4 == 0:
            N = 2 ** (quarter // 4)
            found += [("power of 2", dtype, elements // N or 1, N) for elements in ELEMENTS]
    for number in range(180):
        multiple = (1, 2, VEC_BYTES // 2)[number // 3 % 3]
        N = int(2 ** draw.uniform(3, 23)) // multiple * multiple
        M = int(2 ** draw.uniform(16, 28)) // N or 1
        found.append(("random", [*DTYPES][number % 3], M, N))
    found = list(dict.fromkeys(found))
    return draw.sample(found, len(found))


def plans_for(shape: Shape) -> dict[str, LaunchPlan]:
    """Return the plan of every variant that takes a matrix."""
    _, dtype, M, N = shape
    pack = widest_pack(DTYPES[dtype], 0, N)
    problem = Problem(getattr(torch, dtype), M, N, pack, False, launch.gpu_info(0))
    found = {}
    for stem, module in frontier.PARTS.items():
        for config in module.CONFIGS:
            if plans := module.plan(problem, config):
                found[f"{stem}__{config}"] = plans[0]
    return found


def compile_kernels(plans: list[LaunchPlan]) -> None:
    """Put all binaries into the user's cache, on all cores."""
    major, minor = torch.cuda.get_device_capability()
    jobs = {(plan.source, plan.kernel, f"sm_{major}{minor}") for plan in plans}
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(mp_context=context) as pool:
        list(pool.map(_compile, jobs, chunksize=8))
    print(f"{len(jobs)} kernels compiled", file=sys.stderr)


def _compile(job: tuple[Path, str, str]) -> None:
    nvrtc.build_once(*job)  # whose result no other process needs


def times(shape: Shape, plans: dict[str, LaunchPlan]) -> dict[str, float]:
    """Return the median µs of every variant; variants with the same plan share one."""
    graph.MIN_REPLAY_US, graph.TRIALS = REPLAY_US, TRIALS
    _, dtype, M, N = shape
    size = M * N * DTYPES[dtype]
    sets = inputs.rotation_length(2 * size, torch.cuda.get_device_properties(0).L2_cache_size)
    x = [torch.randn(M, N, device="cuda", dtype=getattr(torch, dtype)) for _ in range(sets)]
    rotation = [(each, torch.empty_like(each)) for each in x]
    clock, series = graph.GraphClock(rotation, random.Random(1), INSTANCES), {}
    for variant, plan in plans.items():
        if plan not in series:
            clock.add(kernels.load(variant).softmax, variant)
            series[plan] = variant
    order, blocks = [*series.values()], []
    for _ in range(BLOCKS):
        random.shuffle(order)
        blocks.append(dict(zip(order, clock.block(order), strict=True)))
    us = {name: statistics.median(block[name] for block in blocks) for name in order}
    return {variant: us[series[plan]] for variant, plan in plans.items()}


def write(path: Path) -> None:
    """Time all variants at all shapes, and write a compressed table of COLUMNS."""
    plans = {shape: plans_for(shape) for shape in shapes()}
    compile_kernels([plan for each in plans.values() for plan in each.values()])
    with gzip.open(path, "wt", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for number, (shape, each) in enumerate(plans.items(), 1):
            for variant, us in times(shape, each).items():
                out.writerow((*shape, variant, f"{us:.5g}"))
            print(f"\r{number} of {len(plans)} shapes", end="", file=sys.stderr, flush=True)
