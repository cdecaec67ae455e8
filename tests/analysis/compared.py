"""Synthetic runs with raw samples: noise with heavy tails, and deviations between processes."""

import csv
import gzip
import io
from pathlib import Path

import numpy as np

from analysis import schema
from analysis.record import SAMPLE
from tests.analysis import synthetic

SIZES = [2**i for i in range(8, 18)]
CONDITIONS = {"measure_sha256": "m" * 64, "kernel_sha256": "k" * 64, "seed": "3407"}
BLOCKS = 40


def rows(variants=synthetic.TRITON, sizes=SIZES, m=(1024,), **given) -> list[dict[str, str]]:
    """A row for every variant, M and N."""
    given = CONDITIONS | given
    return [
        synthetic.row(variant=v, M=str(rows), N=str(n), **given)
        for v in variants
        for rows in m
        for n in sizes
    ]


def point(row: dict[str, str]) -> tuple:
    """The identity of a row, M and N as integers."""
    return tuple(int(row[name]) if name in "MN" else row[name] for name in schema.POINT)


def samples(row: dict[str, str], seed: int, slower: float = 1.0, fixed_us: float = 0.0) -> list:
    """Lines of SAMPLE of one process; deterministic by the point and `seed`.

    The machine drifts from process to process and during one, which scales all series alike;
    beside that every series is off on its own, and in one process of fifty torch is off by 2 %.
    The amounts are those of the recorded rows of an H200, rounded up. On hosts with several GPUs
    every call takes `fixed_us`, 0.35 there, longer in two processes of five.
    """
    noise = 0.0015
    entropy = [seed, *"".join(map(str, point(row))).encode()]
    rng = np.random.default_rng(entropy)
    times = {name: float(row[f"{name}_us"]) for name in ("torch", "copy")}
    times |= {"variant": float(row["time_us"]) * slower, "torch_again": times["torch"]}
    machine = 0.003 * rng.standard_normal() + 0.002 * np.sin(np.arange(BLOCKS) / 9)
    own = {name: 0.0004 * rng.standard_t(3) for name in times}
    own["torch"] += 0.02 * (rng.random() < 0.02)
    own["torch_again"] = own["torch"]
    fixed = fixed_us * (rng.random() < 0.4)
    lines = []
    for block in range(BLOCKS):
        for order, name in enumerate(times):
            log = machine[block] + own[name] + noise * rng.standard_t(3)
            lines.append((block, order, name, f"{times[name] * np.exp(log) + fixed:.6f}"))
    return lines


def write_table(path: Path, lines: list[dict[str, str]], seed: int, slower=None, fixed_us=0.0):
    """Write a recorded table and its samples; `slower` maps a point to its factor of time."""
    synthetic.write_csv(path, lines)
    each = [
        [*(row[name] for name in schema.POINT), *sample]
        for row in lines
        if row["time_us"]
        for sample in samples(row, seed, (slower or {}).get(point(row), 1.0), fixed_us)
    ]
    _pack(path.with_suffix(".samples.csv.gz"), [[*schema.POINT, *SAMPLE], *each])
    return path


def write_cells(root: Path, lines: list[dict[str, str]], seed: int) -> Path:
    """Write the same as cells below `root`/cells; returns that folder."""
    for row in lines:
        cell = synthetic.write_cell(root, row)
        each = samples(row, seed) if row["time_us"] else []
        _pack(cell.with_suffix(".samples.csv.gz"), [SAMPLE, *each])
    return root / "cells"


def _pack(path: Path, lines: list) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    path.write_bytes(gzip.compress(text.getvalue().encode(), compresslevel=1, mtime=0))
