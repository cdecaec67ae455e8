"""What would a GPU lose by another's table of choices, or by the rule of thumb?

``python -m studies.choices studies/data/h100/tuning.csv`` takes recorded rows of the sweep
``tuning`` on a GPU of compute capability 9.0. For each dtype and N it asks what ``frontier`` would
choose there without a table of its own, and what without any table, and prints in Markdown how fast
these are beside the fastest form. Speeds are geometric means over M of the speed-up over torch,
which was timed beside each form. Below that, how near the fastest forms come to a copy, at 128 MB
and more, but for few long rows.
"""

import argparse
import math
import statistics
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import torch

from analysis import frame, schema, tuning
from analysis.errors import InputError
from analysis.report import markdown
from kernels import split
from kernels.cuda.nvrtc import GPUS, WORD_BYTES, Call, widest_pack
from kernels.frontier import _tuning, frontier

from . import goals, recorded

GPU = GPUS["sm_90"]._replace(name="a GPU without a table")
WAYS = {
    f"the table of the {_tuning.STANDS_IN[GPU.capability]}": frontier.choices,
    "the rule of thumb": frontier.by_rule,
}
CHOSEN = (
    "dtype",
    "chosen by",
    "lengths",
    "of which timed",
    "of which the fastest",
    "of the fastest's speed, geometric mean",
    "least",
    "at N",
)
COPIED = ("dtype", "rows", "points", "of a copy, median", "least", "there")


def shares(timed: pd.DataFrame) -> Iterator[dict]:
    """For every dtype, N and way of choosing: what is chosen, and its speed over the fastest's.

    NaN where the sweep did not time what is chosen.
    """
    for (_, dtype, N), part in timed.groupby(tuning.KEY):
        speeds = tuning.speedups(part)
        kind = getattr(torch, dtype)
        call = Call(kind, 1, N, widest_pack(kind.itemsize, WORD_BYTES, N), False, GPU)
        for way, names in WAYS.items():
            form, _ = frontier.taken(names(call), call)
            share = speeds.get(form, math.nan) / max(speeds.values(), default=math.nan)
            yield {"dtype": dtype, "N": N, "way": way, "form": form, "share": share}


def summary(found: pd.DataFrame) -> Iterator[list]:
    """A line of the table for every dtype and way of choosing."""
    for (dtype, way), part in found.groupby(["dtype", "way"]):
        timed = part.dropna(subset="share")
        line = [dtype, way, len(part), len(timed), (timed["share"] == 1).sum()]
        if timed.empty:
            yield [*line, "", "", ""]
            continue
        worst = timed.loc[timed["share"].idxmin()]
        mean = statistics.geometric_mean(timed["share"])
        yield [*line, f"{mean:.3f}", f"{worst['share']:.3f}", worst["N"]]


def copied(timed: pd.DataFrame) -> Iterator[list]:
    """A line for every dtype, and for whether rows are whole words: the fastest forms' of_copy.

    Of points that read and write 128 MB and more, but for few long rows.
    """
    winners = {tuple(line[:3]): line[3] for line in tuning.winners(timed)}
    won = [winners.get(tuple(point)) for point in timed[tuning.KEY].itertuples(index=False)]
    row_bytes = timed["N"] * timed["dtype"].map(schema.ITEMSIZE)
    names = {True: "whole words", False: "not whole words"}
    whole = (row_bytes % WORD_BYTES == 0).map(names)
    inside = goals.large(timed) & ~goals.few(timed)
    chosen = timed.assign(whole=whole)[inside & (timed["variant"] == won)]
    for (dtype, kind), part in chosen.groupby(["dtype", "whole"]):
        least = part.loc[part["of_copy"].idxmin()]
        share = [f"{value:.3f}" for value in (part["of_copy"].median(), least["of_copy"])]
        yield [dtype, kind, len(part), *share, f"{least['M']}x{least['N']}"]


def load(path: Path) -> pd.DataFrame:
    """Timed rows of the frontier's forms. Raises InputError where there are none."""
    table = recorded.load(path)
    table = table[table["variant"].map(lambda name: split(name)[0] in frontier.PARTS)]
    timed = table[frame.timed(table)]
    if timed.empty:
        raise InputError(f"{path}: no timed rows of forms; give those of sweeps/tuning.yaml")
    if len(names := timed["gpu_name"].unique()) > 1:
        raise InputError(f"{path}: rows of several GPUs ({', '.join(names)}); give those of one")
    return timed


def main(words: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.choices", description=__doc__)
    parser.add_argument("rows", type=Path, help="CSV file of recorded rows of the sweep tuning")
    try:
        timed = load(parser.parse_args(words).rows)
        found = pd.DataFrame(shares(timed))
    except InputError as error:
        parser.error(str(error))
    print(markdown.table(CHOSEN, list(summary(found)), "choices"), end="\n\n")
    print(markdown.table(COPIED, list(copied(timed)), "of a copy"))


if __name__ == "__main__":
    main()
