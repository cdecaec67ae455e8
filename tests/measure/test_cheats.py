"""Kernels that cheat, to test the checker: each is caught or flagged, as its docstring says."""

import ast
from pathlib import Path

import pytest

CHEATS = Path(__file__).parent / "cheats"
NAMES = sorted(path.stem for path in CHEATS.glob("*.py"))

# What catches a cheat, and one that only this catches. The others are slow.
QUICK = {
    # the correctness check
    "first_rows": "an element that is not written stays NaN",
    "unnormalised": "a value that is off by more than rounding",
    "changes_input": "the input is compared with a copy",
    "backward_without_sum": "the same for gradients, against their own float64",
    "through_bfloat16": "a float16 result has values between those of bfloat16",
    # edge cases: other values, in padded rows, in one set of buffers
    "cached_by_shape": "other values of the same shape",
    "no_maximum": "special: values far from 0",
    "nan_where_masked": "special: rows with -inf",
    "never_nan": "special: rows that have no softmax",
    "backward_hides_nan": "special: rows that have no gradient",
    "past_the_end": "NaN and large values between the rows",
    "only_where_nan": "an output that is not NaN before the call",
    "writes_padding": "what lies between the rows of the output",
    # after timing
    "right_forty_times": "the outputs that were timed",
    "cached_but_one": "the outputs of all timed buffers, not only of the first",
    "cached_by_first_row": "other values in timed buffers, with the first row as it was",
    "backward_kept_by_first_row": "the same for gradients, which read two matrices",
    "memo_of_all_values": "an output that was spoilt, of the same input",
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
    "through_bfloat16": {"dtype": "float16"},
    "gpu_once_in_a_graph": {"M": 1024, "N": 256},
    "gpu_skips_in_some_graphs": {"M": 1024, "N": 256},
    "gpu_half_late": {"M": 16384, "N": 4096},
    "gpu_returns_early": {"M": 16384, "N": 4096},
}


def expected(name: str) -> tuple[str, tuple[str, ...]]:
    """The status of a cheat's row, and what its message may begin with, from its docstring."""
    cheat, found = ast.get_docstring(ast.parse((CHEATS / f"{name}.py").read_text())).split("\n\n")
    assert cheat.startswith("Cheat: ")
    how, _, messages = found.partition(" by: ")
    return {"Caught": "incorrect", "Flagged": "ok"}[how], tuple(messages.split(" or "))


def parameters() -> list:
    """Each cheat and where it runs: on the GPU, if it needs one or decides there."""
    gpu, slow = (pytest.mark.gpu,), (pytest.mark.slow,)
    assert set(QUICK) <= set(NAMES)
    on_gpu = [name for name in NAMES if name.startswith("gpu_")]
    found = [pytest.param(name, "auto", marks=gpu) for name in (*on_gpu, "memo_of_all_values")]
    for name in sorted(set(NAMES) - set(on_gpu)):
        found.append(pytest.param(name, "cpu", marks=() if name in QUICK else slow))
    return found


@pytest.mark.parametrize(("name", "gpu"), parameters())
def test_a_cheat_is_caught(bench, name, gpu):
    bench.add(name, (CHEATS / f"{name}.py").read_text())
    op = {"op": "softmax_backward"} if name.startswith("backward_") else {}
    row = bench.row(name, gpu=gpu, **op, **OPTIONS.get(name, {}))
    status, messages = expected(name)
    assert row["status"] == status, row["message"]
    assert row["message"].startswith(messages), row["message"]
    assert ("edge_cases" in row["flags"].split()) == bool(row["time_us"]) == (status == "ok")
