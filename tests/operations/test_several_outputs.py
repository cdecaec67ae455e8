"""An operation with several outputs and an index per row is measured as any other."""

import pytest

import operations
from measure import journal, pipeline
from tests.bench import point
from tests.kernels.helpers.variants import forget

OPERATION = """
import torch
from operations import Exact, Operand, Operation, Output

INDEX = Operand("index", ("M",), "int64")

def exact(x, index, dtype):
    picked, doubled = x.gather(1, index[:, None])[:, 0], 2 * x
    return tuple(Exact(y, torch.zeros_like(y), y.abs()) for y in (picked, doubled))

def baseline(x, index, out):
    out[0].copy_(x.gather(1, index[:, None])[:, 0])
    torch.mul(x, 2, out=out[1])

OPERATION = Operation(
    inputs=(Operand("x"), INDEX),
    outputs=(Output("picked", ("M",), "float32"), Output("doubled")),
    inputs_of=lambda x, draw: (x, draw(INDEX)),
    exact=exact,
    baseline=baseline,
    aten=("gather", "mul.out"),
)
"""
KERNEL = """
import torch

def pick_and_double(x, index, out=None):
    outputs = (x.new_empty(len(x), dtype=torch.float32), torch.empty_like(x).contiguous())
    picked, doubled = out or outputs
    doubled.copy_(2 * x)
    picked.copy_(x.gather(1, index[:, None])[:, 0])
    {then}
    return {result}
"""
PICKED = "picked of pick_and_double"
# An index from behind the last row is a column that exists, so the result is wrong, and no fault.
BEYOND = "index.as_strided(index.shape, (1,), index.storage_offset() + 1)"
WRONG = {
    "doubled": "returned Tensor, not a tuple of 2 tensors",
    "picked, doubled[:, :-1]": "output 2: returned shape (6, 95), expected (6, 96)",
    "doubled, picked": "output 1: returned shape (6, 96), expected (6,)",
}
SPOILT = {
    "picked[-1] += 1": f" where {PICKED} is ",
    "doubled[0, 3] = 7": "7 at column 3 where doubled of pick_and_double is ",
    "index.data[0] = 0 if index[0] else 1": "changed its input",
    f"picked.copy_(x.gather(1, {BEYOND}[:, None])[:, 0]) if index.storage_offset() else 0": PICKED,
}
CASES = [("pass", "picked, doubled", "")]
CASES += [("pass", result, words) for result, words in WRONG.items()]
CASES += [(then, "picked, doubled", words) for then, words in SPOILT.items()]


@pytest.mark.parametrize(("then", "result", "words"), CASES)
def test_each_output_is_checked_and_a_right_kernel_is_timed(
    then, result, words, tmp_path, monkeypatch
):
    monkeypatch.setattr(operations, "_added", {})
    files = tmp_path / "pick_and_double.py", tmp_path / "picking.py"
    files[0].write_text(OPERATION, encoding="utf-8")
    files[1].write_text(KERNEL.format(then=then, result=result), encoding="utf-8")
    options = {"op": "pick_and_double", "variant": "picking", "M": 6, "N": 96, "blocks": 6}
    try:
        measured = point(**options, operation_files=files[:1], files=files[1:])
        written = journal.Journal(tmp_path)
        samples = pipeline.measure(measured, written)
    finally:
        operations.load.cache_clear()
        forget()
    row = written.row
    assert row["status"] == ("incorrect" if words else "ok"), row["message"]
    assert words in row["message"]
    assert bool(samples) == (not words)
    if not words:
        assert (row["baseline"], row["max_abs_error"]) == ("torch_pick_and_double", 0)
        assert row["max_row_sum_error"] is None
        moved = 4 * 6 * 96 * 2 + 6 * (8 + 4)
        assert row["throughput_gbps"] * row["time_us"] * 1000 == pytest.approx(moved)
