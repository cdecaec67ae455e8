"""OneFlow's dispatch, point by point and regime by regime."""

import math
import statistics

import pandas as pd

from analysis.ratios import Ratio
from analysis.regimes import DISPATCH, KERNELS, Choice, choices
from analysis.report import markdown as md
from analysis.report.blocks import Block, Prose, Table


def part(rows: pd.DataFrame) -> list[Block]:
    """What the dispatch takes in the rows of one set (origin, gpu, dtype, sweep, op and input)."""
    found = choices(rows)
    judged = [choice for choice in found if choice.open]
    blocks: list[Block] = [Prose(_sentence(found, judged))]
    if judged:
        columns = ["N", "M", "takes", *(f"{_short(name)} (µs)" for name in KERNELS)]
        columns += ["fastest", "a wrong choice costs", "of copy"]
        blocks.append(Table(columns, [_line(choice) for choice in judged], "dispatch"))
    return [*blocks, _by_regime(found)]


def _sentence(found: list[Choice], judged: list[Choice]) -> str:
    text = (
        f"`{DISPATCH}` is timed at {md.counted(len(found), 'point')}; its choice can be judged at "
        f"{len(judged)} of them, where the kernel it takes is timed, and another one of the three"
    )
    if not judged:
        return text + "."
    losses = [(choice.loss(), choice.own["N"]) for choice in judged]
    wrong = [(loss, n) for loss, n in losses if loss.side() == "above"]
    text += f". It takes a kernel that is surely not the fastest at {len(wrong)} of {len(judged)}"
    if not wrong:
        return text + "."
    loss, n = max(wrong, key=lambda pair: pair[0].value)
    return text + f", the worst at N = {n}: {_percent(loss)} more time."


def _line(choice: Choice) -> list[object]:
    times = (
        md.number(choice.kernels[name]["time_us"]) if name in choice.kernels else ""
        for name in KERNELS
    )
    own = choice.own
    words = (_short(choice.taken), *times, _short(choice.fastest), _cost(choice))
    return [own["N"], own["M"], *words, md.number(own["of_copy"], 3)]


def _cost(choice: Choice) -> str:
    loss = choice.loss()
    if choice.taken == choice.fastest:
        return "nothing"
    if loss.side() == "unclear":
        return f"not distinguishable from nothing ({_percent(loss)})"
    return _percent(loss)


def _percent(loss: Ratio) -> str:
    """Time lost, of the time of the fastest kernel, with its interval where it has one."""
    value, low, high = (f"{100 * (bound - 1):.1f}" for bound in (loss.value, loss.low, loss.high))
    return f"{value} %" if math.isnan(loss.low) else f"{value} % [{low}, {high}]"


def _by_regime(found: list[Choice]) -> Block:
    """The fraction of a copy that the dispatch reaches, by the kernel that it takes."""
    lines = []
    for name in (*KERNELS, ""):
        here = [choice.own for choice in found if choice.taken == name]
        of_copy = pd.Series([own["of_copy"] for own in here], dtype="float64").dropna()
        if of_copy.empty:
            continue
        mean = statistics.geometric_mean(of_copy)
        numbers = (of_copy.median(), mean, of_copy.min(), of_copy.max())
        label = _short(name) if name else "not known (no row of cuda_oneflow_smem says)"
        sizes = md.span([own["N"] for own in here])
        lines.append([label, len(here), sizes, *(md.number(value, 3) for value in numbers)])
    columns = ["takes", "points", "N", "of copy, median", "geometric mean", "least", "most"]
    return Table(columns, lines, "regimes") if lines else Prose("No row has a copy beside it.")


def _short(name: str) -> str:
    return name.removeprefix(f"{DISPATCH}_")
