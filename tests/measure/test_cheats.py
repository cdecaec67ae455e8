"""Kernels that cheat, to test the checker: each is caught, by what its docstring says."""

import ast
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


def measure(bench, name: str) -> dict:
    """The row of a cheat, as the real command writes it."""
    bench.add(name, (CHEATS / f"{name}.py").read_text())
    options = {"time-budget": 0.1}
    options |= {"op": "softmax_backward"} if name.startswith("backward_") else {}
    options |= OPTIONS.get(name, {})
    # Where there is a GPU, cheats that need none are measured on a CPU all the same.
    if name.startswith("gpu_") and torch.cuda.is_available():
        options["gpu"] = "auto"
    return bench.row(name, **options)


@pytest.mark.parametrize("name", parameters())
def test_a_cheat_is_caught(bench, name):
    row = measure(bench, name)
    assert row["status"] == "incorrect", row["message"]
    assert row["message"].startswith(caught_by(name)), row["message"]
    assert row["time_us"] == row["speedup"] == ""
