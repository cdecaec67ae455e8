"""Print how much time `frontier`'s rule loses against the best config for each shape.

`python -m studies.dispatch [FILE …]` prints, for each file of timings, how much longer the config
takes that the rule in the code chooses. If a file has peers, it also prints how far the rule is
behind the best of them. `--fit` also prints one rule that is fitted to all files. `--measure FILE`
first times all configs on this GPU and writes a new FILE (*.csv.gz), with `--random SEED` at other
shapes, together with `--peers`.
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
from collections.abc import Mapping
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

GPUS, TABLES = ("h100", "h200"), ("dispatch", "peers", "unseen")
DATA = [Path(f"studies/data/{gpu}/{name}.csv.gz") for gpu in GPUS for name in TABLES]
# Penalties of the fit, in units of ln(time ratio).
PRICE = 0.2  # an entry costs as much as 1 % at 20 shapes
MARGIN = 0.03  # the part of a loss above this counts twice
REFUSED = 3.0  # cost of a row that neither an entry's variant nor the next entry's takes
# Weight of smaller matrices. Their best config often differs from that of equally long rows in a
# large matrix, but M must not choose.
SMALL_BYTES, SMALL_WEIGHT = 2e6, 0.6
PEER_HEADS = "kind", "peers", "shapes", "≤ 1 %", "≤ 4 %", "worst", "at"
# Peer that loads x with `evict_last`, which keeps lines in L2 at the expense of later kernels.
KEEPS_LINES = "peer_tileops"
HEADS = "kind", "itemsize", "rows", "shapes", "loss, mean", "≤ 1 %", "≤ 2 %", "≤ 4 %", "worst", "at"
# Columns of the table that --measure writes.
COLUMNS = ["kind", "dtype", "M", "N", "variant", "us"]
# Shapes with the vocabularies of models, and shapes at which this project or a peer was slow.
_BOTH = (4096, 128256), (1024, 131072), (9301, 20528), (11684, 29736), (50000, 1536), (1000, 98304)
_BOTH += (89005, 264), (4096, 50257), (4096, 32000), (4096, 151936), (32768, 8192), (8192, 4096)
_BOTH += ((2048, 32768),)
ASKED = [("bfloat16", _BOTH), ("float32", _BOTH)]
ASKED += [("float32", ((166, 295112), (619837, 813), (900, 200000), (4096, 4096), (32768, 512)))]
ASKED += [("float16", ((32768, 8192),)), ("bfloat16", ((32768, 65536), (8, 151936), (16, 262144)))]
ELEMENTS = 2**28, 2**25, 2**21, 2**17  # memory bounds the first two; L2 and latency the others
BLOCKS, INSTANCES = 6, 2
# µs per replay, and trials before it: fewer than in a sweep, because there are 10,000 series.
REPLAY_US, TRIALS = 500.0, 3

Shape = tuple[str, str, int, int]  # kind, dtype, M, N


def load_us(path: Path) -> pd.DataFrame:
    """Return times in µs, one line per shape and one column per variant; NaN if it refuses."""
    us = pd.read_csv(path, index_col=COLUMNS[:-1])["us"]
    # keeps the order of the file; unstack(sort=False) would mix up values in pandas 2
    return us.unstack().reindex(us.index.droplevel("variant").unique())


def load(path: Path) -> tuple[list[Shape], list[str], np.ndarray]:
    """Return shapes, configs, and losses: ln(µs / fewest µs), NaN if a config refuses."""
    us = load_us(path).filter(regex="^frontier")
    return [*us.index], [*us.columns], np.log(us.div(us.min(axis=1), axis=0)).to_numpy()


def fit(row_bytes: np.ndarray, loss: np.ndarray, last: int) -> list[tuple[int, int]]:
    """Return the cheapest entries (largest row in bytes, index of a variant).

    Dynamic programming from the longest rows down: ``cost[i, a]`` is the cost of all rows from the
    i-th length on, if the first entry has variant a. Rows that it refuses go to the next entry's
    variant, or to the ``last`` resort.
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
    """Return a rule in the form of ``frontier.RULE``, fitted to the losses."""
    itemsize = np.array([DTYPES[dtype] for _, dtype, _, _ in shapes])
    row_bytes = np.array([N for *_, N in shapes]) * itemsize
    small = np.array([M for _, _, M, _ in shapes]) * row_bytes < SMALL_BYTES
    weighted, rule = loss * np.where(small, SMALL_WEIGHT, 1.0)[:, None], {}
    last = variants.index(frontier.LAST_RESORTS[0])
    for aligned, size in itertools.product((True, False), sorted({*DTYPES.values()})):
        part = ((row_bytes % VEC_BYTES == 0) == aligned) & (itemsize == size)
        entries = fit(row_bytes[part], weighted[part], last) if part.any() else []
        rule[aligned, size] = [(limit, variants[index]) for limit, index in entries]
    return rule


def losses(rule: dict, shapes: list[Shape], variants: list[str], loss: np.ndarray) -> np.ndarray:
    """Return the share of time that a rule loses at each shape; infinity if no choice was timed."""
    tables = (dict(zip(variants, of_variants, strict=True)) for of_variants in loss)
    pairs = zip(shapes, tables, strict=True)
    return np.expm1([of_choice(*pair, rule) for pair in pairs])


def of_choice(shape: Shape, values: Mapping[str, float], rule: dict = frontier.RULE) -> float:
    """Return the value of the first of a rule's choices that has one; infinity if none has."""
    _, dtype, _, N = shape
    taken = (values.get(v, np.nan) for v in frontier.choices(N, DTYPES[dtype], rule))
    return next((value for value in taken if not np.isnan(value)), np.inf)


def loss_table(shapes: list[Shape], lost: np.ndarray) -> str:
    """Return a table of losses, one line per kind, itemsize and alignment, and one for all."""
    groups, lines = {}, []
    for index, (kind, dtype, _, N) in enumerate(shapes):
        row_bytes = N * (itemsize := DTYPES[dtype])
        rows = "unaligned" if row_bytes % VEC_BYTES else "aligned"
        for key in ((kind, itemsize, rows), ("all", "", "")):
            groups.setdefault(key, []).append(index)
    for key, indices in sorted(groups.items(), key=str):
        worst, part = max(indices, key=lambda index: lost[index]), lost[indices]
        within = (f"{np.mean(part <= limit):.0%}" for limit in (0.01, 0.02, 0.04))
        place = "{1} {2}x{3}".format(*shapes[worst])
        lines.append((*key, len(part), f"{part.mean():.2%}", *within, f"{part.max():.1%}", place))
    return table(HEADS, lines)


def behind_peers(path: Path) -> str | None:
    """Return a table of how far the rule is behind the best peer; None if there are no peers."""
    us = load_us(path)
    peers = [name for name in us if not name.startswith("frontier")]
    if not peers:
        return None
    chosen = pd.Series([of_choice(shape, times) for shape, times in us.iterrows()], us.index)
    lines, fair_peers = [], [name for name in peers if name != KEEPS_LINES]
    for label, group in (("all", peers), (f"without {KEEPS_LINES}", fair_peers)):
        ratio = chosen / us[group].min(axis=1)
        for kind, part in ratio.groupby(level="kind"):
            within = (f"{(part <= limit).mean():.0%}" for limit in (1.01, 1.04))
            place = "{1} {2}x{3}".format(*part.idxmax())
            lines.append((kind, label, len(part), *within, f"{part.max() - 1:.1%}", place))
    return table(PEER_HEADS, lines)


def other_shapes(seed: int, count: int = 100) -> list[Shape]:
    """Return the shapes that people ask for, and random ones: log-uniform, a third of N odd."""
    asked = [("asked", dtype, M, N) for dtype, shapes in ASKED for M, N in shapes]
    draw, drawn = random.Random(seed), []
    while len(drawn) < count:
        turn = len(drawn)
        M, N = int(2 ** draw.uniform(0, 22)), int(2 ** draw.uniform(3, 23))
        N = N | 1 if turn // 3 % 3 == 0 else max(8, N // 8 * 8)
        if 2**16 <= M * N <= 2**29:
            drawn.append(("random", [*DTYPES][turn % 3], M, N))
    return asked + drawn


def timed_shapes(seed: int = 1) -> list[Shape]:
    """Return shapes at 4 N per octave, aligned and not, in four sizes; powers of 2; random ones.

    In the random ones N and M·N are log-uniform; a third of N each is any, even, a multiple of 8.
    """
    draw, shapes = random.Random(seed), []
    for dtype, quarter in itertools.product(("float32", "bfloat16"), range(3 * 4, 23 * 4)):
        cols, vector = int(2 ** ((quarter + draw.random()) / 4)), VEC_BYTES // DTYPES[dtype]
        aligned = cols // vector * vector or vector
        for N in (aligned, cols + (cols == aligned)):
            shapes += [("designed", dtype, elements // N or 1, N) for elements in ELEMENTS]
        if quarter % 4 == 0:
            N = 2 ** (quarter // 4)
            shapes += [("power of 2", dtype, elements // N or 1, N) for elements in ELEMENTS]
    for number in range(180):
        multiple = (1, 2, VEC_BYTES // 2)[number // 3 % 3]
        N = int(2 ** draw.uniform(3, 23)) // multiple * multiple
        M = int(2 ** draw.uniform(16, 28)) // N or 1
        shapes.append(("random", [*DTYPES][number % 3], M, N))
    shapes = list(dict.fromkeys(shapes))
    return draw.sample(shapes, len(shapes))


def plans_for(shape: Shape) -> dict[str, LaunchPlan]:
    """Return the launch plan of every variant that takes a matrix, by variant."""
    _, dtype, M, N = shape
    pack = widest_pack(DTYPES[dtype], 0, N)
    problem = Problem(getattr(torch, dtype), M, N, pack, False, launch.gpu_info(0))
    plans = {}
    for stem, module in frontier.PARTS.items():
        for config in module.CONFIGS:
            if launches := module.plan(problem, config):
                plans[f"{stem}__{config}"] = launches[0]
    return plans


def compile_kernels(plans: list[LaunchPlan]) -> None:
    """Compile kernels into the user's cache, on all cores."""
    major, minor = torch.cuda.get_device_capability()
    jobs = {(plan.source, plan.kernel, f"sm_{major}{minor}") for plan in plans}
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(mp_context=context) as pool:
        list(pool.map(_compile, jobs, chunksize=8))
    print(f"{len(jobs)} kernels compiled", file=sys.stderr)


def _compile(job: tuple[Path, str, str]) -> None:
    nvrtc.build_once(*job)  # returns None, because the result need not travel between processes


def times(
    shape: Shape, plans: dict[str, LaunchPlan], peers: tuple[str, ...] = ()
) -> dict[str, float]:
    """Return the median time in µs of every variant; configs with the same plan share one."""
    graph.MIN_REPLAY_US, graph.TRIALS = REPLAY_US, TRIALS
    _, dtype, M, N = shape
    size = M * N * DTYPES[dtype]
    sets = inputs.rotation_length(2 * size, torch.cuda.get_device_properties(0).L2_cache_size)
    x = [torch.randn(M, N, device="cuda", dtype=getattr(torch, dtype)) for _ in range(sets)]
    rotation = [(tensor, torch.empty_like(tensor)) for tensor in x]
    clock, series = graph.GraphClock(rotation, random.Random(1), INSTANCES), {}
    for variant, plan in plans.items():
        if plan not in series:
            clock.add(kernels.load(variant).softmax, variant)
            series[plan] = variant
    of_others = [name for name in peers if kernels.load(name).unsupported(x[0]) is None]
    for name in of_others:
        clock.add(kernels.load(name).softmax, name)
    order, blocks = [*series.values(), *of_others], []
    for _ in range(BLOCKS):
        random.shuffle(order)
        blocks.append(dict(zip(order, clock.block(order), strict=True)))
    us = {name: statistics.median(block[name] for block in blocks) for name in order}
    return {variant: us[series[plan]] for variant, plan in plans.items()} | {
        name: us[name] for name in of_others
    }


def measure(path: Path, shapes: list[Shape], peers: tuple[str, ...] = ()) -> None:
    """Time all configs and ``peers``, and write a compressed table of COLUMNS."""
    plans = {shape: plans_for(shape) for shape in shapes}
    compile_kernels([plan for by_variant in plans.values() for plan in by_variant.values()])
    with gzip.open(path, "wt", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for number, (shape, by_variant) in enumerate(plans.items(), 1):
            for variant, us in times(shape, by_variant, peers).items():
                out.writerow((*shape, variant, f"{us:.5g}"))
            print(f"\r{number} of {len(plans)} shapes", end="", file=sys.stderr, flush=True)


def main(argv: list[str] | None = None) -> None:
    """Measure if asked to; print losses and, if asked to, a fitted rule."""
    parser = argparse.ArgumentParser(prog="python -m studies.dispatch", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=DATA, help="timings, *.csv.gz")
    parser.add_argument("--measure", type=Path, metavar="FILE", help="time on this GPU, write FILE")
    parser.add_argument("--random", type=int, metavar="SEED", help="measure at other shapes")
    parser.add_argument("--peers", nargs="*", default=(), help="variants to measure beside")
    parser.add_argument("--fit", action="store_true", help="print a fitted rule and its losses")
    options = parser.parse_args(argv)
    files = options.files
    if options.measure:
        shapes = timed_shapes() if options.random is None else other_shapes(options.random)
        measure(options.measure, shapes, options.peers)
        files = [options.measure]
    tables = {path: load(path) for path in files}
    for path, (shapes, variants, loss) in tables.items():
        lost = losses(frontier.RULE, shapes, variants, loss)
        print(f"\n{path}", loss_table(shapes, lost), behind_peers(path) or "", sep="\n\n")
    if not options.fit:
        return
    (variants,) = {tuple(of_file) for _, of_file, _ in tables.values()}
    shapes = [shape for of_file, _, _ in tables.values() for shape in of_file]
    loss = np.concatenate([of_file for _, _, of_file in tables.values()])
    rule = fitted(shapes, list(variants), loss)
    print("\nfitted", loss_table(shapes, losses(rule, shapes, variants, loss)), sep="\n")
    for (aligned, itemsize), entries in rule.items():
        rows = "aligned" if aligned else "unaligned"
        print(f"\n{rows} rows, elements of {itemsize} bytes; rows of at most so many bytes:")
        print(*(f"{limit:12d} {variant}" for limit, variant in entries), sep="\n")


if __name__ == "__main__":
    replace_missing_characters()
    main()
