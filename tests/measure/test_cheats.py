"""Kernels that cheat, to test the checker: each is caught, by what its docstring says."""

import ast
from pathlib import Path

import pytest
import torch

CHEATS = Path(__file__).parent / "cheats"
NAMES = sorted(path.stem for path in CHEATS.glob("*.py"))

# What catches a cheat, and one that only this catches. The others are slow.
QUICK = {
    # the correctness check
    "first_rows": "an element that is not written stays NaN",
    "unnormalised": "a value that is off by more than rounding",
    "changes_input": "the input is compared with a copy",
    "backward_without_sum": "the same for gradients, against their own float64",
    # edge cases: other values, in padded rows, in one set of buffers
    "cached_by_shape": "other values of the same shape",
    "no_maximum": "values far from 0",
    "nan_where_masked": "rows with -inf",
    "never_nan": "rows that have no softmax",
    "backward_hides_nan": "rows that have no gradient",
    "past_the_end": "NaN between the rows",
    "only_where_nan": "an output that is not NaN before the call",
    "writes_padding": "what lies between the rows of the output",
    # after timing
    "right_forty_times": "the outputs that were timed",
    "cached_but_one": "the outputs of all timed buffers, not only of the first",
    "cached_by_first_row": "other values in timed buffers, with the first row as it was",
    "backward_kept_by_first_row": "the same for gradients, which read two matrices",
    # integrity
    "patches_clock": "functions are the same objects",
    "patches_tolerance": "tables have the same values",
    "patches_dispatch": "torch's dispatcher has the same kernels",
    "patches_threads": "settings have the same values",
}

# What a cheat needs to be worth its while; 64 x 96 uniform float32 numbers for all others.
OPTIONS = {
    "past_the_end": {"N": 90},
    "writes_padding": {"N": 90},
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
    """Cheats that need a GPU are marked so: each cheats in another way."""
    gpu, slow = (pytest.mark.gpu,), (pytest.mark.slow,)
    assert set(QUICK) <= set(NAMES)
    return [
        pytest.param(name, marks=gpu if name.startswith("gpu_") else () if name in QUICK else slow)
        for name in NAMES
    ]


def measure(bench, name: str) -> dict:
    """The row of a cheat, as the real command writes it."""
    bench.add(name, (CHEATS / f"{name}.py").read_text())
    options = {"op": "softmax_backward"} if name.startswith("backward_") else {}
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
