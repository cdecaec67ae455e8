"""The arguments of the commands: what each means, in one table."""

import argparse
from pathlib import Path

from analysis import schema
from analysis.compare import Limits


def _percent(text: str) -> float:
    """Return a percentage as a fraction."""
    try:
        value = float(text) / 100
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a percentage between 0 and 100")
    return value


def _path(text: str, **options) -> dict:
    return {"type": Path, "help": text, **options}


def _limit(text: str, default: float) -> dict:
    text += f" (default: {100 * default:g} %%)"  # argparse formats it
    return {"type": _percent, "default": default, "metavar": "PERCENT", "help": text}


RUN = "folder of row files (results/rows), results/measurements.csv, or recorded table"
ARGUMENTS = {
    "merged": _path("merged rows of one GPU, results/measurements/{gpu}.csv", nargs="*"),
    "folders": _path("data/recorded/{gpu}", nargs="+"),
    "old": _path(f"{RUN}, to compare with", metavar="OLD"),
    "new": _path(f"{RUN}, to judge", metavar="NEW"),
    "--measurements": _path("merged rows of all GPUs (written by `collect`)"),
    "--published": _path("folder of the published tables and sources.yaml"),
    "--merged": _path("merged rows of one GPU, results/measurements/{gpu}.csv"),
    "--rows": _path("folder of the row files with samples"),
    "--claims": _path("file that `claims` wrote"),
    "--figures-dir": _path("folder of the figures to link"),
    "--output": _path("file to write; of `record` and `tuning` the folder"),
    "--output-dir": _path("folder to write to; of `compare` for its figure and Markdown"),
    "--recorded": _path(
        "recorded rows, data/recorded/{gpu}/{sweep}.csv; for a report their .yaml",
        nargs="*",
        default=[],
        metavar="FILE",
    ),
    "--unranked-flags": {
        "help": "flags that exclude a row from the ranking; without any, all rows rank "
        f"(default: {' '.join(schema.UNRANKED)})",
        "nargs": "*",
        "default": schema.UNRANKED,
        "metavar": "FLAG",
        "choices": schema.flags(),
    },
    "--command": {
        "help": "the exact command that measures these rows, quoted in the output",
        "dest": "reproduce_with",
        "metavar": "COMMAND",
    },
    "--gpu": {
        "help": "short name of a GPU; without it, the figures that no GPU owns",
        "default": "",
    },
    "--threshold": _limit("exit with 1 for a point slower by more", Limits().threshold),
    "--margin": _limit("a smaller difference counts as the same", Limits().margin),
    "--false-discoveries": _limit("share of the changes that may be wrong", Limits().rate),
    "--allow": {"help": "compare although the conditions differ", "action": "store_true"},
}
