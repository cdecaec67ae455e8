"""The published tables, as far as planning needs them: which sets they give, which fit as bars."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

# Values of a published table that are drawn as bars: beside as many measured ones, each with its
# number above it, they fill the width of a page.
MOST_BARS = 20


@dataclass(frozen=True)
class Table:
    """A table of data/published/: its sweep, the (gpu, dtype) of its rows, and their number."""

    sweep: str
    kinds: tuple[tuple[str, str], ...]
    values: int


def tables(folder: Path) -> list[Table]:
    """Every table that sources.yaml in ``folder`` names, in its order."""
    sources = yaml.safe_load((folder / "sources.yaml").read_text())
    found = []
    for name, source in sources.items():
        with (folder / name).open(newline="") as file:
            rows = [(line["gpu"], line["dtype"]) for line in csv.DictReader(file)]
        found.append(Table(source["sweep"], tuple(sorted(set(rows))), len(rows)))
    return found


def with_bars(sets: Iterable[tuple[str, str, str]], folder: Path) -> list[tuple[str, str, str]]:
    """Those of the sets (gpu, dtype, sweep) that are drawn as bars beside a published table.

    Where the sweep has a table of that dtype with at most MOST_BARS values; not on a CPU, whose
    times do not stand beside those of a GPU.
    """
    short = {
        (dtype, table.sweep)
        for table in tables(folder)
        if table.values <= MOST_BARS
        for _, dtype in table.kinds
    }
    return [chosen for chosen in sets if chosen[1:] in short and chosen[0] != "cpu"]
