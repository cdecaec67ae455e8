"""What removes the bias of torch against itself in calls of a few µs?

``python -m studies.aa_bias measure --output FILE.csv`` times torch.softmax against a second series
of itself, in many fresh processes, with one measure after the other added; ``draw`` and ``table``
show what came of it. Needs a GPU for measuring.
"""

import argparse
import csv
import multiprocessing
import random
import sys
from pathlib import Path

from studies import environment

# (name, random order, µs of a replay at least, graphs per series, a buffer set of its own)
STEPS = (
    ("one rotation a graph", False, 0.0, 1, False),
    ("+ random order", True, 0.0, 1, False),
    ("+ replays of 4 ms", True, 4000.0, 1, False),
    ("+ 8 graphs in turn", True, 4000.0, 8, False),
    ("own buffers as well", True, 4000.0, 8, True),
    ("8 graphs of 2 ms, same buffers", True, 2000.0, 8, False),
    ("8 graphs of 1 ms, same buffers", True, 1000.0, 8, False),
)
SHAPES = ((1024, 256), (1024, 1024), (1024, 4096))
BLOCKS = 40
COLUMNS = ("step", "M", "N", "process", "time_us", "aa_ratio", "aa_low", "aa_high")


def ratios(process: int, shapes=SHAPES, blocks: int = BLOCKS) -> list[tuple]:
    """Lines of COLUMNS for every shape and step, measured in this process."""
    import torch

    from measure import inputs
    from measure.clock import buffers, controls, graph
    from measure.device.device import open_device
    from measure.point import Point
    from measure.stats import interval

    device, call, lines = open_device("auto"), controls.baseline("softmax"), []
    for rows, cols in shapes:
        point = Point(gpu=device.slug, dtype="float32", M=rows, N=cols, variant="torch_softmax")
        x = inputs.draw("uniform", torch.float32, rows, cols, point.seed, device.torch_device)
        pairs, others = (buffers.make(point, device, (m,)) for m in (x, x.clone()))
        elsewhere = {x.data_ptr(): other for (x, _), other in zip(pairs, others, strict=True)}
        for name, shuffled, replay_us, captures, own in STEPS:
            clock = graph.GraphClock(pairs, captures, replay_us)
            clock.add("torch", call)
            clock.add("again", redirected(call, elsewhere) if own else call)
            shuffle = random.Random(process).sample
            times = {"torch": [], "again": []}
            for block in range(blocks + 10):
                order = shuffle(list(times), 2) if shuffled else list(times)
                for series, time_us in zip(order, clock.block(order), strict=True):
                    if block >= 10:  # those before warm up
                        times[series].append(time_us)
            ratio = interval.paired_ratio(times["torch"], times["again"])
            median = sorted(times["torch"])[blocks // 2]
            lines.append((name, rows, cols, process, median, ratio.value, ratio.low, ratio.high))
    return lines


def redirected(call, elsewhere: dict):
    """``call`` on the pair that ``elsewhere`` has for the address of x."""
    return lambda x, out: call(*elsewhere[x.data_ptr()])


def measure(output: Path, processes: int) -> None:
    """Write the lines of ``processes`` fresh processes to ``output``."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for process in range(processes):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                for line in pool.apply(ratios, (process,)):
                    writer.writerow([f"{v:.7g}" if isinstance(v, float) else v for v in line])
            file.flush()
            print(f"process {process + 1} of {processes}", file=sys.stderr)
    environment.write(output.with_suffix(".yaml"), "torch against itself")


def summary(data):
    """Per step and shape: µs, how far the ratio is off 1, share of intervals that exclude 1.

    ``data``: a frame with COLUMNS.
    """
    data = data.assign(
        off=100 * (data["aa_ratio"] - 1).abs(),
        excludes=100 * ((data["aa_low"] > 1) | (data["aa_high"] < 1)),
    )
    groups = data.groupby(["N", "step"], sort=False)
    return groups.agg(
        time_us=("time_us", "median"),
        median_off=("off", "median"),
        largest_off=("off", "max"),
        excludes=("excludes", "mean"),
    ).reset_index()


def table(data) -> str:
    """``summary`` in Markdown."""
    lines = [
        "| N | µs | series | median off 1 | largest off 1 | intervals that exclude 1 |",
        "|---|---|---|---|---|---|",
    ]
    for row in summary(data).itertuples():
        lines.append(
            f"| {row.N} | {row.time_us:.2f} | {row.step} | {row.median_off:.2f} % "
            f"| {row.largest_off:.2f} % | {row.excludes:.0f} % |"
        )
    return "\n".join(lines)


def draw(data, output: Path) -> None:
    """One panel per shape: the ratio of every process, step by step."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import seaborn as sns

    sns.set_theme(style="whitegrid", context="paper")
    shapes = data.drop_duplicates(["M", "N"])[["M", "N"]].to_numpy()
    figure, axes = plt.subplots(
        1, len(shapes), figsize=(10, 3.2), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, (rows, cols) in zip(axes[0], shapes, strict=True):
        part = data[(data["M"] == rows) & (data["N"] == cols)]
        sns.stripplot(part.assign(off=100 * (part["aa_ratio"] - 1)), x="off", y="step", ax=axis,
                      size=4, alpha=0.6, jitter=0.25, color="#0072B2")  # fmt: skip
        axis.axvline(0, color="black", linewidth=0.8)
        axis.set(xlabel="torch / torch - 1 (%)", ylabel="")
        axis.set_title(f"{rows} x {cols}, {part['time_us'].median():.1f} µs")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150)
    plt.close(figure)


def main(words: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.aa_bias", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure", help="time on the GPU at hand")
    one.add_argument("--output", type=Path, required=True)
    one.add_argument("--processes", type=int, default=20)
    for name, text in (("table", "print a Markdown table"), ("draw", "draw the figure")):
        one = commands.add_parser(name, help=text)
        one.add_argument("--data", type=Path, required=True)
        if name == "draw":
            one.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(words)
    if options.command == "measure":
        measure(options.output, options.processes)
        return
    import pandas as pd

    data = pd.read_csv(options.data)
    if options.command == "table":
        print(table(data))
    else:
        draw(data, options.output)


if __name__ == "__main__":
    main()
