"""Kernels that cheat, to test the checker: each is caught, by what its docstring says."""

import ast
import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

CHEATS = Path(__file__).parent / "cheats"
NAMES = sorted(path.stem for path in CHEATS.glob("*.py"))

# What a cheat needs to be worth its while; 64 x 96 uniform float32 numbers for all others.
OPTIONS = {
    "wrong_past_column": {"M": 4, "N": 2**15 + 64},
    "float16_sum": {"M": 4, "N": 2**17, "dtype": "float16"},
    "past_the_end": {"N": 90},
    "writes_padding": {"N": 90},
    "log_of_softmax": {"op": "log_softmax"},
    "backward_of_log_without_sum": {"op": "log_softmax_backward"},
    "gpu_past_the_end": {"N": 90},
    "gpu_once_in_a_graph": {"M": 1024, "N": 256},
    "gpu_half_late": {"M": 16384, "N": 4096},
    "gpu_returns_early": {"M": 16384, "N": 4096},
}


def caught_by(name: str) -> tuple[str, ...]:
    """What the row's message may begin with, from the docstring of a cheat."""
    cheat, caught = ast.get_docstring(ast.parse((CHEATS / f"{name}.py").read_text())).split("\n\n")
    assert cheat.startswith("Cheat: ")
    assert caught.startswith("Caught by: ")
    return tuple(caught.removeprefix("Caught by: ").split(" or "))


def parameters() -> list:
    """Cheats that need a GPU are marked so."""
    gpu = pytest.mark.gpu
    return [pytest.param(name, marks=gpu if name.startswith("gpu_") else ()) for name in NAMES]


def measure(project: Path, name: str) -> dict:
    """The row of a cheat, as the real command writes it."""
    (project / "kernels" / f"{name}.py").write_text((CHEATS / f"{name}.py").read_text())
    options = {"M": 64, "N": 96, "time-budget": 0.1}
    options |= {"op": "softmax_backward"} if name.startswith("backward_") else {}
    options |= OPTIONS.get(name, {})
    # Where there is a GPU, cheats that need none are measured on a CPU all the same.
    if not (name.startswith("gpu_") and torch.cuda.is_available()):
        options["gpu"] = "cpu"
    command = [sys.executable, "-m", "measure", "point", "--variant", name, "--output", "row.csv"]
    command += [word for key, value in options.items() for word in (f"--{key}", str(value))]
    # two threads: many tests at once on one machine must not fight for its cores
    environment = os.environ | {"OMP_NUM_THREADS": "2"}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with (project / "row.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    return row


@pytest.mark.parametrize("name", parameters())
def test_a_cheat_is_caught(project, name):
    row = measure(project, name)
    assert row["status"] == "incorrect", row["message"]
    assert row["message"].startswith(caught_by(name)), row["message"]
    assert row["time_us"] == row["speedup"] == ""
