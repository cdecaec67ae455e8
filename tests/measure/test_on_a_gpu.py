"""What only a GPU can show: graphs, cold and warm, the roofline, telemetry."""

import pytest

import operations
from kernels import DTYPES
from tests.bench import kernel

pytestmark = pytest.mark.gpu
AUTO = {"gpu": "auto", "blocks": 51}
COMPILED = {"registers", "spilled_bytes", "shared_bytes", "num_warps", "blocks_per_sm"}
MAY_BE_EMPTY = {"message", "flags", "throttle_reasons", "git_commit", "git_dirty"}
MAY_BE_EMPTY |= {"package_versions"}  # but for peers
MAY_BE_EMPTY |= {"special_rows_wrong"}  # but for a kernel that is wrong on some
MAY_BE_EMPTY |= {"meet_us", "meet_form", "of_meet"}  # but for few long rows


# A compiler's own figures, each operation, and a 16-bit dtype.
@pytest.mark.parametrize(
    ("variant", "op", "dtype", "empty"),
    [
        ("triton_row", "softmax", "float32", {"cuda_core", "nvrtc"}),
        ("cuda_oneflow", "log_softmax", "float32", set()),
        ("triton_backward", "log_softmax_backward", "float32", {"cuda_core", "nvrtc"}),
        ("torch_softmax", "softmax_backward", "bfloat16", {"cuda_core", "nvrtc", *COMPILED}),
        (
            *("torch_logits", "logsumexp", "float32"),
            {"cuda_core", "nvrtc", "max_row_sum_error", *COMPILED},
        ),
    ],
)
def test_a_row_is_complete(bench, variant, op, dtype, empty):
    row = bench.row(variant, M=1024, N=1024, op=op, dtype=dtype, **AUTO)
    assert (row["status"], row["timing"], row["op"]) == ("ok", "graph", op), row["message"]
    assert {name for name, value in row.items() if value == ""} <= MAY_BE_EMPTY | empty
    moved = operations.load(op).call_bytes(1024, 1024, DTYPES[dtype])
    assert int(row["peak_memory_bytes"]) >= moved
    rate = moved / float(row["time_us"]) / 1000
    assert float(row["throughput_gbps"]) == pytest.approx(rate, rel=1e-6)
    assert float(row["found_in_l2"]) < 0.05
    if not empty:
        assert (row["num_warps"], row["shared_bytes"], row["spilled_bytes"]) == ("4", "0", "0")
        assert int(row["registers"]) > 32
        assert int(row["blocks_per_sm"]) >= 1


def test_a_further_replicate_times_the_blocks_alone(bench):
    first, second, _ = bench.replicates("triton_row", M=1024, N=1024, **AUTO)
    assert (second["status"], second["n_samples"]) == ("ok", "51"), second["message"]
    assert second["gpu_uuid"] == first["gpu_uuid"]
    assert second["warm_us"] == second["found_in_l2"] == ""


def test_eager_calls_of_torch_take_as_long_as_torch(bench):
    for row in bench.replicates("torch_softmax", M=64, N=256, **AUTO)[:2]:
        assert row["status"] == "ok", row["message"]
        assert float(row["latency_us"]) > float(row["time_us"])  # the host decides
        assert "launch_bound" in row["flags"].split()
        assert 0.8 < float(row["eager_speedup_low"]) <= float(row["eager_speedup_high"]) < 1.25


def test_a_matrix_beyond_the_cache_has_no_warm_time_and_does_not_beat_the_copy(bench):
    row = bench.row("triton_row", M=4096, N=12672, **AUTO)
    assert row["status"] == "ok", row["message"]
    assert row["warm_us"] == ""
    assert 0.5 < float(row["of_copy"]) <= 1.02
    assert float(row["found_in_l2"]) < 0.05


# One that writes rows, and one that writes a value per row.
@pytest.mark.parametrize(
    ("variant", "op", "share"),
    [("frontier", "softmax", 0.3), ("torch_logits", "logsumexp", 0)],
)
def test_few_long_rows_have_a_second_roofline(bench, variant, op, share):
    first, second, _ = bench.replicates(variant, M=4, N=131072, op=op, **AUTO)
    assert share < float(first["of_copy"]) < float(first["of_meet"]) < 1.5, first["message"]
    assert second["meet_form"] == first["meet_form"] != ""


@pytest.mark.parametrize("served", [False, True])
def test_a_broken_context_is_the_kernel_s_own(bench, served):
    wild = "@triton.jit\ndef wild(p):\n    tl.store(p + 2**50 + tl.arange(0, 128), 0.0)\n"
    bench.add("wild", kernel("wild[(1,)](x)", f"import triton, triton.language as tl\n{wild}"))
    row = bench.row("wild", gpu="auto", served=served)
    assert row["status"] == "crash", row["message"]
    assert "illegal memory access" in row["message"]
    next_one = bench.row("torch_softmax", gpu="auto", served=served)
    assert next_one["status"] == "ok", next_one["message"]


def test_what_cannot_be_recorded_in_a_graph_is_unsupported(bench):
    bench.add("waits", kernel("torch.cuda.synchronize()"))
    row = bench.row("waits", M=1024, N=4096, **AUTO)
    assert (row["status"], row["time_us"]) == ("unsupported", "")
    assert "cannot be recorded in a CUDA graph" in row["message"]


def test_a_cold_call_of_many_that_share_the_cache_finds_nothing_there(bench):
    row = bench.row("torch_softmax", N=256, **AUTO)
    assert row["status"] == "ok", row["message"]
    assert float(row["found_in_l2"]) < 0.05
    assert float(row["cold_load_cycles"]) > 1.5 * float(row["resident_load_cycles"])


def test_buffers_that_stay_in_the_cache_are_found_there():
    import torch

    from measure.clock import cold

    class Warm:
        def leave_cold(self, series, turn):
            x.sum() + out.sum()
            torch.cuda.synchronize()

    x, out = (torch.rand(1024, 1024, device="cuda") for _ in range(2))
    summary = cold.time_loads(Warm(), "variant", [(x, out)], seed=1)
    assert summary["found_in_l2"] > 0.8
