"""Print what the rule by which `frontier` chooses loses against the best of all its configs.

`python -m studies.dispatch [FILE]` prints the loss of the rule in the code: by how much more time
the chosen config takes. `--fit` prints a rule that is fitted to the timings, too. `--measure FILE`
first times all configs on this GPU, in a new FILE (*.csv.gz).
"""

import argparse
import concurrent.futures
import csv
import gzip
import itertools
import multiprocessing
import random
import statistics
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import kernels
from analysis.markdown import table
from kernels.contract import DTYPES, VEC_BYTES
from kernels.cuda import launch, nvrtc
from kernels.cuda.plan import LaunchPlan, Problem, widest_pack
from kernels.frontier import frontier
from kernels.terminal import replace_missing_characters
from measure import inputs
from measure.clock import graph

DATA = Path("studies/data/h100/dispatch.csv.gz")
# For the fit, in units of ln(time ratio).
PRICE = 0.2  # of an entry: as much as 1 % at 20 shapes
MARGIN = 0.03  # a loss beyond it counts twice
REFUSED = 3.0  # of a row that neither an entry's variant nor the next entry's takes
HEADS = "kind", "itemsize", "rows", "shapes", "loss, mean", "≤ 1 %", "≤ 2 %", "≤ 4 %", "worst", "at"
# Of --measure.
COLUMNS = ["kind", "dtype", "M", "N", "variant", "us"]
ELEMENTS = 2**28, 2**25, 2**21, 2**17  # memory bounds the first two, L2 and latency the others
BLOCKS, INSTANCES = 6, 2
# Shorter than in a sweep, for there are ten thousand series: µs of a replay, trials before it.
REPLAY_US, TRIALS = 500.0, 3

Shape = tuple[str, str, int, int]  # kind, dtype, M, N


def load(path: Path) -> tuple[list[Shape], list[str], np.ndarray]:
    """Return shapes, variants, and losses: ln(µs / fewest µs), NaN where a variant refuses."""
    us = pd.read_csv(path, index_col=COLUMNS[:-1])["us"].unstack(sort=False).sort_index(axis=1)
    return [*us.index], [*us.columns], np.log(us.div(us.min(axis=1), axis=0)).to_numpy()


def fit(row_bytes: np.ndarray, loss: np.ndarray, last: int) -> list[tuple[int, int]]:
    """Return the cheapest entries (most bytes, index of a variant) for rows of these bytes.

    Dynamic programming from the longest rows on: ``cost[i, a]`` is that of all rows from the i-th
    length on, if variant a has the first entry. Rows that a refuses take the next entry's variant,
    or the ``last`` resort.
    """
    loss = loss + np.maximum(0, loss - MARGIN)
    lengths, group = np.unique(row_bytes, return_inverse=True)
    n, count = len(lengths), loss.shape[1]
    taken, passed = np.zeros((n + 1, count)), np.zeros((n + 1, count, count))
    np.add.at(taken, group + 1, np.nan_to_num(loss))
    by_next = np.nan_to_num(loss, nan=REFUSED)[:, None, :]
    np.add.at(passed, group + 1, np.isnan(loss)[:, :, None] * by_next)
    taken, passed = taken.cumsum(0)[:, :, None], passed.cumsum(0)
    cost, following, entries = np.full((n + 1, count), np.inf), {}, []
    cost[n, last] = 0
    for i in reversed(range(n)):
        total = taken[i + 1 :] - taken[i] + passed[i + 1 :] - passed[i] + cost[i + 1 :, None]
        total = total.swapaxes(0, 1).reshape(count, -1)
        cost[i] = PRICE + total.min(1)
        following[i] = [(i + 1 + best // count, best % count) for best in total.argmin(1)]
    i, variant = 0, cost[0].argmin()
    while i < n:
        i, after = following[i][variant]
        entries.append((int(lengths[i - 1]), variant))
        variant = after
    return entries


def fitted(shapes: list[Shape], variants: list[str], loss: np.ndarray) -> dict:
    """Return a rule like ``frontier.RULE``, without entries for one size of an element alone."""
    row_bytes, rule = np.array([N * DTYPES[dtype] for _, dtype, _, N in shapes]), {}
    for aligned in (True, False):
        part = (row_bytes % VEC_BYTES == 0) == aligned
        found = fit(row_bytes[part], loss[part], variants.index(frontier.LAST_RESORT))
        rule[aligned] = [(most, variants[index]) for most, index in found]
    return rule


def losses(rule: dict, shapes: list[Shape], variants: list[str], loss: np.ndarray) -> np.ndarray:
    """Return the share of time that a rule loses at each shape.

    It takes the first of its choices that was timed. Without one the loss is infinite.
    """
    found = []
    for (_, dtype, _, N), of_variants in zip(shapes, loss, strict=True):
        of = {v: x for v, x in zip(variants, of_variants, strict=True) if not np.isnan(x)}
        taken = (of[v] for v in frontier.choices(N, DTYPES[dtype], rule) if v in of)
        found.append(next(taken, np.inf))
    return np.expm1(found)


def loss_table(shapes: list[Shape], lost: np.ndarray) -> str:
    """Return a line of losses for each kind, size of an element and alignment, and one for all."""
    groups, lines = {}, []
    for index, (kind, dtype, _, N) in enumerate(shapes):
        row_bytes = N * (itemsize := DTYPES[dtype])
        rows = "unaligned" if row_bytes % VEC_BYTES else "aligned"
        for key in ((kind, itemsize, rows), ("all", "", "")):
            groups.setdefault(key, []).append(index)
    for key, indices in sorted(groups.items(), key=str):
        worst, of = max(indices, key=lambda index: lost[index]), lost[indices]
        within = (f"{np.mean(of <= limit):.0%}" for limit in (0.01, 0.02, 0.04))
        at = "{1} {2}x{3}".format(*shapes[worst])
        lines.append((*key, len(of), f"{of.mean():.2%}", *within, f"{of.max():.1%}", at))
    return table(HEADS, lines)


def timed_shapes(seed: int = 1) -> list[Shape]:
    """Return 4 N an octave, aligned and not, in four sizes of a matrix; powers of 2; random ones.

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


def measure(path: Path) -> None:
    """Time all variants at all shapes, and write a compressed table of COLUMNS."""
    plans = {shape: plans_for(shape) for shape in timed_shapes()}
    compile_kernels([plan for each in plans.values() for plan in each.values()])
    with gzip.open(path, "wt", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for number, (shape, each) in enumerate(plans.items(), 1):
            for variant, us in times(shape, each).items():
                out.writerow((*shape, variant, f"{us:.5g}"))
            print(f"\r{number} of {len(plans)} shapes", end="", file=sys.stderr, flush=True)


def main(argv: list[str] | None = None) -> None:
    """Print losses, and a fitted rule if asked for; before that, measure if asked to."""
    parser = argparse.ArgumentParser(prog="python -m studies.dispatch", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=DATA, help="timings, *.csv.gz")
    parser.add_argument("--measure", type=Path, metavar="FILE", help="time on this GPU, write FILE")
    parser.add_argument("--fit", action="store_true", help="print a fitted rule and its losses")
    given = parser.parse_args(argv)
    if given.measure:
        measure(given.measure)
    shapes, variants, loss = load(given.measure or given.file)
    print(loss_table(shapes, losses(frontier.RULE, shapes, variants, loss)))
    if not given.fit:
        return
    rule = fitted(shapes, variants, loss)
    print("", loss_table(shapes, losses(rule, shapes, variants, loss)), sep="\n")
    for aligned, entries in rule.items():
        print("\naligned" if aligned else "\nunaligned", "rows of at most so many bytes:")
        print(*(f"{most:12d} {variant}" for most, variant in entries), sep="\n")


if __name__ == "__main__":
    replace_missing_characters()
    main()
