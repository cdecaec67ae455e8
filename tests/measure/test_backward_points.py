"""Points of the backward, through the real command, on a CPU."""

import pytest

from tests.marks import slow


# Both operations: torch has a function for each.
@pytest.mark.parametrize("op", ["softmax_backward", "log_softmax_backward"])
def test_torchs_own_is_timed_and_its_bytes_are_three_matrices(bench, op):
    row = bench.row("torch_softmax", op=op)
    assert (row["status"], row["op"], row["message"]) == ("ok", op, "")
    rate = 3 * 64 * 96 * 4 / float(row["time_us"]) / 1000
    assert float(row["throughput_gbps"]) == pytest.approx(rate, rel=1e-6)
    assert float(row["copy_us"]) > 0
    assert float(row["torch_us"]) > 0
    assert 0 < float(row["max_abs_error"]) < 1e-5


# Each operation and dtype once: they do not meet in the measuring code. The interpreter truncates
# to bfloat16, which the correctness check must allow. Kernels are tested in tests/kernels.
@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        ("softmax_backward", "float32"),
        ("log_softmax_backward", "bfloat16"),
        slow("softmax_backward", "bfloat16"),
        slow("log_softmax_backward", "float32"),
    ],
)
def test_triton_is_interpreted(bench, op, dtype):
    row = bench.row("triton_backward", op=op, dtype=dtype)
    assert (row["status"], row["time_us"]) == ("interpreted", ""), row["message"]


@pytest.mark.parametrize(
    ("variant", "op"), [("triton_row", "softmax_backward"), ("triton_backward", "softmax")]
)
def test_who_has_only_one_direction_is_unsupported_in_the_other(bench, variant, op):
    row = bench.row(variant, op=op)
    assert (row["status"], row["message"]) == ("unsupported", f"{variant} has no {op}")
