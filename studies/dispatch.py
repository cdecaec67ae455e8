"""Print what the rule by which `frontier` chooses loses against the best of all its configs.

`python -m studies.dispatch [FILE]` prints the loss of the rule in the code: by how much more time
the chosen config takes. `--fit` prints a rule that is fitted to the timings, too. `--measure FILE`
first times all configs on this GPU, in a new FILE (*.csv.gz).
"""

import argparse
import csv
import gzip
from pathlib import Path

import numpy as np

from analysis.markdown import table
from kernels.contract import DTYPES, VEC_BYTES
from kernels.frontier import frontier

DATA = Path("studies/data/h100/dispatch.csv.gz")
# For the fit, in units of ln(time ratio).
PRICE = 0.2  # of an entry: as much as 1 % at 20 shapes
MARGIN = 0.03  # a loss beyond it counts twice
REFUSED = 3.0  # of a row that neither an entry's variant nor the next entry's takes
HEADS = "kind", "itemsize", "rows", "shapes", "loss, mean", "≤ 1 %", "≤ 2 %", "≤ 4 %", "worst", "at"

Shape = tuple[str, str, int, int]  # kind, dtype, M, N


def load(path: Path) -> tuple[list[Shape], list[str], np.ndarray]:
    """Return shapes, variants, and losses: ln(µs / fewest µs), NaN where a variant refuses."""
    times: dict[Shape, dict[str, float]] = {}
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            shape = row["kind"], row["dtype"], int(row["M"]), int(row["N"])
            times.setdefault(shape, {})[row["variant"]] = float(row["us"])
    variants = sorted({variant for each in times.values() for variant in each})
    us = np.array([[each.get(v, np.nan) for v in variants] for each in times.values()])
    return list(times), variants, np.log(us / np.nanmin(us, axis=1, keepdims=True))


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


def main(argv: list[str] | None = None) -> None:
    """Print losses, and a fitted rule if asked for; before that, measure if asked to."""
    parser = argparse.ArgumentParser(prog="python -m studies.dispatch", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=DATA, help="timings, *.csv.gz")
    parser.add_argument("--measure", type=Path, metavar="FILE", help="time on this GPU, write FILE")
    parser.add_argument("--fit", action="store_true", help="print a fitted rule and its losses")
    given = parser.parse_args(argv)
    if given.measure:
        from studies import dispatch_times

        dispatch_times.write(given.measure)
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
    main()
