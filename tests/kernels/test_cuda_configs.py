"""Which CUDA C++ kernel a problem gets, and its limits."""

import pytest
import torch

import kernels
from kernels.cuda import launch
from kernels.cuda.plan import GPUS, Problem, widest_pack
from kernels.frontier.backward import cuda_backward

H200 = GPUS["sm_90"]
LONGEST_SHARED = (H200.max_shared_per_block - 32) // 4  # 32: four warps have two floats each


def plans(name, rows, cols, pack=4):
    return kernels.load(name).module.plan(Problem(torch.float32, rows, cols, pack, False, H200))


def test_a_pack_is_as_wide_as_alignment_allows():
    for itemsize, address, counts, pack in (
        (4, 256, 1024 | 4, 4),
        (4, 8, 1024, 2),  # the second of two floats
        (2, 16, 1024, 8),
        (2, 8, 1024, 4),  # four 16-bit elements are 8 bytes
        (2, 2, 1024, 1),
        (4, 0, 1022, 2),
        (4, 0, 1024 | 1023, 1),  # an odd stride
    ):
        assert widest_pack(itemsize, address, counts) == pack


@pytest.mark.parametrize(
    ("start", "out_start", "cols", "pack"),
    [
        (0, 0, 64, 4),
        (4, 0, 60, 4),  # 8 bytes into a vector, as much as a narrow one has
        (2, 0, 64, 2),
        (1, 0, 64, 1),
        (0, 3, 64, 1),
        (0, 0, 61, 1),
    ],
)
def test_a_launch_that_converts_is_another_one(start, out_start, cols, pack, monkeypatch):
    """The pack holds for the elements of both dtypes; forward and backward."""
    launched = []
    monkeypatch.setattr(launch, "launch_with", lambda key, _: launched.append(launch.Key(*key)))
    monkeypatch.setattr(launch, "gpu_info", lambda _: H200)
    x = torch.empty(3 * cols + 4, dtype=torch.bfloat16)[start:]
    out = torch.empty(3 * cols + 4)[out_start:]
    launch.launch_rows(plans, x, out, 3, cols, cols, cols)
    cuda_backward.launch(out, out, x, 3, cols, (cols, 0, cols), False)
    for key in launched:
        assert (key.dtype, key.narrow, key.pack) == (torch.float32, torch.bfloat16, pack)
    launch.launch_rows(plans, x, x, 3, cols, cols, cols)
    assert (launched[-1].dtype, launched[-1].narrow) == (torch.bfloat16, None)


def test_no_launch_rounds_a_float32_input(monkeypatch):
    monkeypatch.setattr(launch, "_loaded", {})
    monkeypatch.setattr(launch, "gpu_info", lambda _: H200)
    x, out = torch.empty(4), torch.empty(4, dtype=torch.float16)
    with pytest.raises(ValueError, match="allowed: 16 bits beside float32"):
        launch.launch_rows(plans, x, out, 1, 4, 4, 4)


def test_a_lane_never_holds_more_than_32_columns_and_all_columns_are_held():
    for cols in range(1, 1025):
        for pack in (p for p in (1, 2, 4) if cols % p == 0):
            (plan,) = plans("cuda_oneflow_warp", 8, cols, pack)
            words = plan.kernel.removesuffix(">").split(", ")[2:]
            held, lanes = int(words[1]), int(words[2])
            assert held <= 32
            assert held % pack == 0
            assert held * lanes >= cols > (held - pack) * lanes
            assert (held * lanes == cols) == (words[4] == "true")
            two_rows = words[3] == "2"  # at once, where a lane has one pack of each
            assert two_rows == (held == pack)
            assert plan.blocks == -(-8 // (128 // lanes * int(words[3])))


@pytest.mark.parametrize(
    ("name", "rows", "cols", "kernel", "blocks"),
    [
        ("cuda_oneflow", 8, 1024, "oneflow_warp", 2),
        # M is odd
        ("cuda_oneflow", 127, 16, "oneflow_warp<float, Softmax, 1, 1, 16, 1, true, 128>", 16),
        ("cuda_oneflow", 8, 1025, "oneflow_smem", 8),
        ("cuda_oneflow", 8, LONGEST_SHARED, "oneflow_smem", 8),
        ("cuda_oneflow", 8, LONGEST_SHARED + 1, "oneflow_uncached", 8),
        # a block is the row rounded up; it takes N rows, or one
        ("cuda_fastertransformer_v1", 100 * 33, 33, "fastertransformer<float, 64>", 100),
        ("cuda_fastertransformer_v2", 100, 513, "fastertransformer<float, 1024>", 100),
        # every row has a block up to 120 heads
        ("cuda_fastertransformer", 120 * 64, 64, "fastertransformer<float, 64>", 120 * 64),
        ("cuda_fastertransformer", 120 * 64 + 1, 64, "fastertransformer<float, 64>", 121),
        ("cuda_fastertransformer", 1, 1, "fastertransformer<float, 32>", 1),
    ],
)
def test_the_dispatch(name, rows, cols, kernel, blocks):
    for plan in plans(name, rows, cols, 1):
        assert plan.kernel.startswith(kernel)
        assert plan.blocks == blocks


def test_shared_memory_holds_a_row_of_float32_whatever_the_dtype():
    offered = plans("cuda_oneflow_smem", 8, 4096)
    assert [plan.threads for plan in offered] == [128, 256, 512, 1024]
    assert {plan.shared_bytes for plan in offered} == {4 * 4096}
    # the static part grows with the block: the last rows that fit leave room for few warps only
    assert [p.threads for p in plans("cuda_oneflow_smem", 8, LONGEST_SHARED, 1)] == [128]


@pytest.mark.parametrize(
    ("name", "rows", "cols", "words"),
    [
        ("cuda_oneflow_warp", 4, 1025, "N = 1025: a warp's registers hold rows of at most 1024"),
        ("cuda_oneflow_smem", 4, 60_000, "must fit in the shared memory of a block"),
        ("cuda_fastertransformer_v1", 4, 1025, "one thread per column allows at most 1024"),
        ("cuda_fastertransformer_v2", 2**31, 1, "it takes 2147483648 blocks; a launch has"),
        ("cuda_backward", 4, 2**18 + 1, "the row is longer than this kernel can hold"),
        ("triton_row", 1, 2**20 + 1, "largest block"),
        ("triton_fused", 1, 2**20 + 1, "largest block"),
        ("triton_persistent", 1, 2**20 + 1, "largest block"),
        ("cuda_oneflow_uncached", 2**31, 8, "an NVIDIA GPU and its driver are needed"),
    ],
)
def test_limits_are_said(name, rows, cols, words):
    """Also where there is no GPU: the limits are then an H200's."""
    assert words in kernels.load(name).unsupported(torch.empty(cols).expand(rows, cols))
