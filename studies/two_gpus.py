"""Does a point measure the same while the machine's other GPUs are timed, too?

``python -m studies.two_gpus measure --output FILE.csv`` measures every point alone, then as many
copies of it at once as there are GPUs; each takes a free GPU. ``table --data FILE.csv`` prints what
came of it, in Markdown. Needs two GPUs of a kind.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import gpus
from measure.fingerprint import ROOT

SHAPES = ((1024, 256), (4096, 4096), (65536, 8192))
VARIANTS = ("torch_softmax", "triton_row")
COLUMNS = ("gpu_uuid", "variant", "M", "N", "at_once", "round", "time_us", "speedup", "flags")


def measure(output: Path, rounds: int) -> int:
    """Write a line of COLUMNS per row. 2 where there are not two GPUs of the first one's kind."""
    here = gpus.devices()
    alike = [gpu for gpu in here if gpu.slug == here[0].slug]
    if len(alike) < 2:
        print(f"error: this takes two GPUs of a kind; here: {here or 'none'}", file=sys.stderr)
        return 2
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for rows, cols in SHAPES:
            for variant in VARIANTS:
                for number in range(rounds):
                    for gpu in alike:  # each alone first
                        found = _run([gpu.uuid], alike[0].slug, variant, rows, cols)
                        _write(writer, found, at_once=1, number=number)
                    everywhere = [",".join(gpu.uuid for gpu in alike)] * len(alike)
                    found = _run(everywhere, alike[0].slug, variant, rows, cols)
                    _write(writer, found, at_once=len(alike), number=number)
                file.flush()
                print(f"{variant} {rows}x{cols}", file=sys.stderr)
    return 0


def _run(visible: list[str], slug: str, variant: str, rows: int, cols: int) -> list[dict]:
    """The rows of one point measured by so many processes at once, each seeing these GPUs."""
    words = ["--gpu", slug, "--variant", variant, "--M", str(rows), "--N", str(cols)]
    command = [sys.executable, "-m", "measure", "point", *words, "--served-for", str(os.getpid())]
    with tempfile.TemporaryDirectory(prefix="two-gpus-") as name:
        paths = [Path(name, f"{index}.csv") for index in range(len(visible))]
        started = [
            subprocess.Popen(
                [*command, "--output", str(path)],
                cwd=ROOT,
                env=os.environ | {"CUDA_VISIBLE_DEVICES": devices},
                stdout=subprocess.DEVNULL,
            )
            for path, devices in zip(paths, visible, strict=True)
        ]
        for process in started:
            if process.wait():
                raise subprocess.CalledProcessError(process.returncode, process.args)
        return [_row(path) for path in paths]


def _row(path: Path) -> dict:
    with path.open(newline="") as file:
        (row,) = csv.DictReader(file)
    return row


def _write(writer, found: list[dict], at_once: int, number: int) -> None:
    for row in found:
        about = {**row, "at_once": at_once, "round": number}
        writer.writerow([about[column] for column in COLUMNS])


def table(data) -> str:
    """Per point and GPU: µs alone and at once with the others, medians over the rounds."""
    data = data.assign(alone=data["at_once"] == 1)
    groups = data.groupby(["variant", "M", "N", "gpu_uuid", "alone"], sort=False)
    times = groups["time_us"].median().unstack("alone")
    lines = ["| kernel | M | N | GPU | alone, µs | at once, µs | at once / alone |"]
    lines.append("|---|---|---|---|---|---|---|")
    for (variant, rows, cols, uuid), time_us in times.iterrows():
        alone, together = time_us[True], time_us[False]
        lines.append(
            f"| {variant} | {rows} | {cols} | {uuid[:12]}… | {alone:.2f} | {together:.2f} "
            f"| {together / alone:.4f} |"
        )
    return "\n".join(lines)


def main(words: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.two_gpus", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure", help="measure on the GPUs at hand")
    one.add_argument("--output", type=Path, required=True)
    one.add_argument("--rounds", type=int, default=3, help="of every point (default %(default)s)")
    one = commands.add_parser("table", help="print a Markdown table")
    one.add_argument("--data", type=Path, required=True)
    options = parser.parse_args(words)
    if options.command == "measure":
        return measure(options.output, options.rounds)
    import pandas as pd

    print(table(pd.read_csv(options.data)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
