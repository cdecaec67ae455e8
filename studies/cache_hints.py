"""What do a kernel's hints to the cache gain, and what do they cost what comes after it?

``python -m studies.cache_hints measure --output FILE.csv`` times a copy and a softmax with hints
for L2 against the same without: alone, and each followed by one of the kernels in FOLLOWERS;
``table`` shows what came of it. Needs a GPU for measuring.
"""

import argparse
import csv
import functools
import random
import statistics
from collections.abc import Callable
from pathlib import Path

from studies import environment

MATRICES = (
    *(("float32", 1024, 1024), ("float32", 1024, 4096), ("float32", 8192, 8192)),
    *(("bfloat16", 1024, 4096), ("bfloat16", 8192, 4096)),
)
NONE = "none"
HINTS = {  # of loads, of stores
    NONE: ("", ""),
    "loads evict_last": ("evict_last", ""),
    "loads evict_first": ("evict_first", ""),
    "stores evict_first": ("", "evict_first"),
    "both evict_first": ("evict_first", "evict_first"),
}
KERNELS = {"softmax": tuple(HINTS), "copy": (NONE, "loads evict_last")}
ALONE = "alone"
FOLLOWERS = {
    "reader": "a kernel that reads the result",
    "neighbour": "a kernel that reads two thirds of L2, always the same",
    "product": "a product of square bfloat16 matrices of PRODUCT rows",
}
PRODUCT = 4096
WARM_UP, BLOCKS = 5, 25
COLUMNS = ("dtype", "M", "N", "kernel", "hint", "then", "time_us", "ratio", "low", "high")


def lines_of(dtype: str, rows: int, cols: int) -> list[tuple]:
    """Lines of COLUMNS for a matrix; a ratio is the time without hints over the time with."""
    import torch

    from measure import inputs
    from measure.clock import buffers, graph
    from measure.device.device import open_device
    from measure.point import Point
    from measure.stats import interval

    device = open_device("auto")
    point = Point(gpu=device.slug, dtype=dtype, M=rows, N=cols, variant="torch_softmax")
    x = inputs.draw("normal", getattr(torch, dtype), rows, cols, point.seed, device.torch_device)
    pairs, lines = buffers.make(point, device, (x,)), []
    for then, follow in {ALONE: None, **followers(x, device.cache_bytes)}.items():
        clock = graph.GraphClock(pairs, captures=2)
        times = {(k, h): [] for k, hints in KERNELS.items() for h in hints}
        for kernel, hint in times:
            clock.add(f"{kernel} {hint}", series(kernel, hint, follow))
        for block in range(WARM_UP + BLOCKS):
            order = random.sample(list(times), len(times))
            for key, time_us in zip(order, clock.block([" ".join(k) for k in order]), strict=True):
                if block >= WARM_UP:
                    times[key].append(time_us)
        for (kernel, hint), found in times.items():
            ratio = interval.paired_ratio(times[kernel, NONE], found)
            middle = statistics.median(found)
            values = (middle, ratio.value, ratio.low, ratio.high)
            lines.append((dtype, rows, cols, kernel, hint, then, *values))
    return lines


def series(kernel: str, hint: str, follow: Callable | None) -> Callable:
    """A call of a kernel with a hint, and of what follows it, on (x, out)."""
    from studies import hinted_kernels

    loads, stores = HINTS[hint]
    call = functools.partial(getattr(hinted_kernels, kernel), loads=loads, stores=stores)

    def both(x, out):
        call(x, out)
        follow(out)

    return both if follow else call


def followers(x, cache_bytes: int) -> dict[str, Callable]:
    """FOLLOWERS as calls on the result of a kernel on x (M, N)."""
    import torch

    def matrix(*shape, dtype=torch.bfloat16):
        return torch.randn(shape, dtype=dtype, device=x.device)

    largest = x.new_empty(len(x))
    same = matrix(cache_bytes * 2 // 3 // 2 // 4096, 4096)
    of_same = same.new_empty(len(same))
    left, right, product = (matrix(PRODUCT, PRODUCT) for _ in range(3))
    return {
        "reader": lambda out: torch.amax(out, dim=1, out=largest),
        "neighbour": lambda out: torch.amax(same, dim=1, out=of_same),
        "product": lambda out: torch.mm(left, right, out=product),
    }


def measure(output: Path) -> None:
    """Write the lines of all MATRICES to ``output``."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for matrix in MATRICES:
            for line in lines_of(*matrix):
                writer.writerow([f"{v:.7g}" if isinstance(v, float) else v for v in line])
            file.flush()
    environment.write(output.with_suffix(".yaml"), "hints to the cache")


def saved(data):
    """Per matrix, kernel and hint: µs alone without hints, and what the hint saves, in % of that.

    ``data``: a frame with COLUMNS. A column for ALONE and for each of FOLLOWERS.
    """
    keys = ["dtype", "M", "N", "kernel"]
    plain = data[data["hint"] == NONE].set_index([*keys, "then"])["time_us"].rename("without")
    own = plain.xs(ALONE, level="then").rename("own_us")
    data = data[data["hint"] != NONE].join(plain, on=[*keys, "then"]).join(own, on=keys)
    # The ratio is paired block by block; the medians of two series are not.
    data["saved"] = 100 * data["without"] * (1 - 1 / data["ratio"]) / data["own_us"]
    wide = data.pivot_table("saved", [*keys, "own_us", "hint"], "then", sort=False)
    return wide[[ALONE, *FOLLOWERS]].reset_index()


def table(data) -> str:
    """``saved`` in Markdown."""
    heads = ["matrix", "kernel", "µs", "hint", ALONE, *(f"then the {f}" for f in FOLLOWERS)]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in saved(data).to_dict("records"):
        cells = [f"{row['dtype']} {row['M']}x{row['N']}", row["kernel"], f"{row['own_us']:.2f}"]
        cells += [row["hint"], *(f"{row[then]:+.1f} %" for then in (ALONE, *FOLLOWERS))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(words: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.cache_hints", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure", help="time on the GPU at hand")
    one.add_argument("--output", type=Path, required=True)
    one = commands.add_parser("table", help="print a Markdown table")
    one.add_argument("--data", type=Path, required=True)
    options = parser.parse_args(words)
    if options.command == "measure":
        measure(options.output)
        return
    import pandas as pd

    print(table(pd.read_csv(options.data)))


if __name__ == "__main__":
    main()
