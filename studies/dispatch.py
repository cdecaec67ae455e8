"""Print what the rule by which `frontier` chooses loses on recorded timings.

`python -m studies.dispatch [FILE …]` prints for each file of timings by how much more time the
chosen config takes than the best of all configs and, where the file has peers, than the best peer.
`git show 1dde8cd4:studies/dispatch.py` is the program that timed the configs and fitted the rule.
"""

import argparse
import math
from pathlib import Path

import pandas as pd

from analysis.markdown import percent, table
from kernels.contract import DTYPES
from kernels.frontier import frontier
from kernels.terminal import replace_missing_characters

GPUS, TABLES = ("h100", "h200"), ("dispatch", "peers", "unseen")
DATA = [Path(f"studies/data/{gpu}/{name}.csv.gz") for gpu in GPUS for name in TABLES]
SHAPE = ["kind", "dtype", "M", "N"]
CONFIGS, PEERS = "the best config", "the best peer"
# TileOPs loads x with `evict_last`, which keeps lines in L2 at the cost of later kernels.
KEEPS_LINES = "peer_tileops"
FAIR_PEERS = f"the best peer but {KEEPS_LINES}"
LIMITS = (0.01, 0.02, 0.04)
HEADS = ("file", "kind of shapes", "compared with", "shapes", *(f"≤ {percent(x)}" for x in LIMITS))
HEADS += ("worst", "at")


def load(path: Path) -> pd.DataFrame:
    """Return µs with a shape a line and a variant a column, NaN where a variant refuses."""
    return pd.read_csv(path).pivot(index=SHAPE, columns="variant", values="us")


def name_of(path: Path) -> str:
    """Return what the table calls a file: its folder, a GPU, and its name."""
    return f"{path.parent.name}/{path.name.removesuffix('.csv.gz')}"


def chosen_us(us: pd.DataFrame) -> pd.Series:
    """Return the µs of the first of the rule's choices that was timed; infinity without one."""

    def of_shape(times: pd.Series) -> float:
        _, dtype, _, N = times.name
        choices = [*frontier.choices(N, DTYPES[dtype])]
        return next(iter(times.reindex(choices).dropna()), math.inf)

    return us.apply(of_shape, axis="columns")


def losses(us: pd.DataFrame) -> dict[str, pd.Series]:
    """Return what the rule's choice is compared with -> the share of time that it loses."""
    is_peer = ~us.columns.str.startswith("frontier")
    rivals = {CONFIGS: us.loc[:, ~is_peer]}
    if is_peer.any():
        rivals[PEERS] = us.loc[:, is_peer]
    if KEEPS_LINES in us:
        rivals[FAIR_PEERS] = rivals[PEERS].drop(columns=KEEPS_LINES)
    return {name: chosen_us(us) / times.min(axis="columns") - 1 for name, times in rivals.items()}


def loss_lines(file: str, us: pd.DataFrame) -> list[tuple]:
    """Return a line of HEADS for each kind of shape and what it is compared with."""
    lines = []
    for name, loss in losses(us).items():
        for kind, part in loss.groupby(level="kind"):
            within = (percent((part <= limit).mean()) for limit in LIMITS)
            _, dtype, M, N = part.idxmax()
            worst = percent(part.max(), 1), f"{M}x{N} in {dtype}"
            lines.append((file, kind, name, len(part), *within, *worst))
    return lines


def main(argv: list[str] | None = None) -> None:
    """Print the losses of each file."""
    parser = argparse.ArgumentParser(prog="python -m studies.dispatch", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=DATA, help="timings, *.csv.gz")
    files = parser.parse_args(argv).files
    print(table(HEADS, [line for path in files for line in loss_lines(name_of(path), load(path))]))


if __name__ == "__main__":
    replace_missing_characters()
    main()
