"""The shapes of real models: who is fastest there, on each GPU, or that nobody was timed."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pandas as pd

from analysis import markdown as md
from analysis import ranking


class Workload(NamedTuple):
    """A shape with a name, as `planning.single_shape.workloads` lists it."""

    name: str
    op: str
    dtype: str
    M: int
    N: int

    @property
    def address(self) -> str:
        """The end of the address of its question, after the GPU."""
        return f"{self.op}/{self.dtype}/{self.M}x{self.N}"


class Line(NamedTuple):
    """A named size, and for each GPU the answer in each element type: "" if nothing was timed."""

    name: str
    M: int
    N: int
    answers: dict[str, dict[Workload, str]]

    @property
    def is_measured(self) -> bool:
        """Return whether a GPU has an answer in an element type."""
        return any(text for texts in self.answers.values() for text in texts.values())


def lines(
    workloads: Iterable[Workload], sizes: pd.DataFrame, gpus: list[str]
) -> dict[str, list[Line]]:
    """Return the workloads by operation, those with the most answers first.

    `sizes`: lines of `ranking.over_sweeps`.
    """
    firsts = ranking.winners(sizes).set_index(["op", "dtype", "M", "N", "gpu"]).to_dict("index")
    answers = {place: _answer(first) for place, first in firsts.items()}
    by_op: dict[str, dict[tuple, Line]] = {}
    for workload in workloads:
        name, op, dtype, m, n = workload
        lines_of_op = by_op.setdefault(op, {})
        line = lines_of_op.setdefault((name, m, n), Line(name, m, n, {gpu: {} for gpu in gpus}))
        for gpu in gpus:
            line.answers[gpu][workload] = answers.get((op, dtype, m, n, gpu), "")

    def answered(op: str) -> int:
        lines_of_gpus = (texts for line in by_op[op].values() for texts in line.answers.values())
        return sum(bool(text) for texts in lines_of_gpus for text in texts.values())

    return {op: list(by_op[op].values()) for op in sorted(by_op, key=answered, reverse=True)}


def _answer(first: Mapping) -> str:
    if first["no_winner"]:
        return f"no winner: {first['no_winner']}"
    speed = f"{md.number(first['time_us'], 3)} µs, {md.number(first['speedup'], 3)} times torch"
    return f"{md.best_set(first['best'])}; {speed}"
