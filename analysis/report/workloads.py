"""The shapes of real models: who is fastest there, on each GPU, or that nobody was timed."""

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from analysis import markdown as md


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
    places = sizes.groupby(["op", "dtype", "M", "N", "gpu"])
    answers = {key: _answer(part.sort_values("rank")) for key, part in places}
    by_op: dict[str, dict[tuple, Line]] = {}
    for workload in workloads:
        name, op, dtype, m, n = workload
        lines_of_op = by_op.setdefault(op, {})
        line = lines_of_op.setdefault((name, m, n), Line(name, m, n, {gpu: {} for gpu in gpus}))
        for gpu in gpus:
            line.answers[gpu][workload] = answers.get((op, dtype, m, n, gpu), "")
    answered = {
        op: sum(bool(text) for line in lines_of_op.values() for texts in line.answers.values()
                for text in texts.values())
        for op, lines_of_op in by_op.items()
    }  # fmt: skip
    return {op: list(by_op[op].values()) for op in sorted(by_op, key=lambda op: -answered[op])}


def _answer(size: pd.DataFrame) -> str:
    first = size.iloc[0]
    if first["no_winner"]:
        return f"no winner: {first['no_winner']}"
    best = size.loc[size["in_best_set"], "variant"].tolist()
    speed = f"{md.number(first['time_us'], 3)} µs, {md.number(first['speedup'], 3)} times torch"
    return f"{md.best_set(best)}; {speed}"
