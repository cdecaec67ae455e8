"""The shapes of real models: who is fastest there, on each GPU, or that nobody was timed."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pandas as pd

from analysis import markdown as md
from analysis import ranking


class NamedShape(NamedTuple):
    """A named size, and its answers by GPU and element type: "" if nothing was timed."""

    name: str
    M: int
    N: int
    answers: dict[str, dict[str, str]]

    @property
    def measured(self) -> int:
        """Return how many answers there are."""
        return sum(bool(text) for texts in self.answers.values() for text in texts.values())


def shapes_by_op(
    named: Iterable[Iterable], sizes: pd.DataFrame, gpus: list[str]
) -> dict[str, list[NamedShape]]:
    """Return the named shapes by operation, those with the most answers first.

    `named`: (name, op, dtype, M, N), as `planning.single_shape.workloads` lists them. `sizes`:
    lines of `ranking.over_sweeps`.
    """
    firsts = ranking.winners(sizes).set_index(["gpu", "op", "dtype", "M", "N"]).to_dict("index")
    by_op: dict[str, dict[tuple, NamedShape]] = {}
    for name, op, dtype, m, n in named:
        shape = NamedShape(name, m, n, {gpu: {} for gpu in gpus})
        shape = by_op.setdefault(op, {}).setdefault(shape[:3], shape)
        for gpu in gpus:
            first = firsts.get((gpu, op, dtype, m, n))
            shape.answers[gpu][dtype] = _answer(first) if first else ""
    shapes = {op: [*shapes_of_op.values()] for op, shapes_of_op in by_op.items()}
    ops = sorted(shapes, key=lambda op: -sum(shape.measured for shape in shapes[op]))
    return {op: shapes[op] for op in ops}


def _answer(first: Mapping) -> str:
    if first["no_winner"]:
        return f"no winner: {first['no_winner']}"
    speed = f"{md.number(first['time_us'], 3)} µs, {md.number(first['speedup'], 3)} times torch"
    return f"{md.best_set(first['best'])}; {speed}"
