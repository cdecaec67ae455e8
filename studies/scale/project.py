"""A sweep whose rows lie ready, and a stand-in that copies them instead of measuring."""

import csv
import gzip
import os
import shutil
import sys
from pathlib import Path

import yaml

from measure.fingerprint import ROOT
from measure.point import Point
from measure.row import COLUMNS, SAMPLE_COLUMNS, samples_path
from workflow import sweep

TEMPLATES = ROOT / "results/recorded/h200/online_softmax.csv"
TEMPLATE_N = 4096
VARIANTS = [
    *("torch_softmax", "torch_naive", "torch_jit", "triton_fused", "triton_tiled"),
    *("triton_tiled_nocache", "triton_online", "triton_online_nocache", "triton_persistent"),
    "triton_row",
]
# points -> how many M, how many N; each with every variant
SHAPES = {100: (1, 10), 1_000: (1, 100), 10_000: (10, 100), 50_000: (10, 500)}
TIMES = ("time_us", "time_us_q20", "time_us_q80", "warm_us", "copy_us", "torch_us")  # grow with M·N
BLOCKS = 50

# A row's path is the last word of the command that measures it.
STAND_IN = """\
#!/bin/sh
case "$*" in
"-m measure point "*) for row; do :; done ;;
*) exec "{python}" "$@" ;;
esac
exec cp "{ready}/${{row%.csv}}".* "${{row%/*}}/"
"""
NVIDIA_SMI = """\
#!/bin/sh
echo NVIDIA H200
"""


def config(points: int) -> dict:
    """The configuration of a sweep of so many points, one of SHAPES."""
    rows, sizes = SHAPES[points]
    return yaml.safe_load((ROOT / "config.yaml").read_text()) | {
        "sweep": "scale",
        "gpus": ["h200"],
        "variants": VARIANTS,
        "shapes": [
            {
                "M": {"from": 1024, "to": 1024 * rows, "step": 1024},
                "N": {"from": 256, "to": 256 + 128 * (sizes - 1), "step": 128},
            }
        ],
    }


def prepare(folder: Path, points: int) -> None:
    """Make ``folder`` a working directory for Snakemake: configuration, stand-ins, rows."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(config(points), sort_keys=False))
    ready = (folder / "ready").resolve()
    for name, text in (
        ("python3", STAND_IN.format(python=sys.executable, ready=ready)),
        ("nvidia-smi", NVIDIA_SMI),
    ):
        path = folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    with TEMPLATES.open(newline="") as file:
        templates = {r["variant"]: r for r in csv.DictReader(file) if int(r["N"]) == TEMPLATE_N}
    samples = _samples()
    for point in sweep.points(config(points), "h200"):
        path = ready / sweep.row_path(point)
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, _row(templates[point.variant], point))
        samples_path(path).write_bytes(samples)


def environment(folder: Path) -> dict[str, str]:
    """The environment in which the stand-ins of ``folder`` are found first."""
    path = (str((folder / "bin").resolve()), str(Path(sys.executable).parent), os.environ["PATH"])
    return {**os.environ, "PATH": os.pathsep.join(path)}


def clear(folder: Path) -> None:
    """Remove all that a run has made there."""
    for name in ("results", ".snakemake"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _row(template: dict, point: Point) -> dict:
    factor = point.M * point.N / (int(template["M"]) * TEMPLATE_N)
    times = {name: f"{float(template[name]) * factor:.9g}" for name in TIMES if template[name]}
    return template | times | {"M": point.M, "N": point.N}


def _write(path: Path, row: dict) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerow(row)


def _samples() -> bytes:
    """Samples as a point has them: as many series and blocks, numbers as long."""
    lines = [",".join(SAMPLE_COLUMNS)]
    for block in range(BLOCKS):
        for order, series in enumerate(("variant", "torch", "torch_again", "copy")):
            lines.append(f"{block},{order},{series},{18.5 + (block * 7 + order) % 100 / 1000:.6g}")
    return gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0)
