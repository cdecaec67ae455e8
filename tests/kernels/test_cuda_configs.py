"""Which CUDA C++ kernel a call gets: packs, parts of a warp, blocks, borders of the dispatch."""

import pytest
import torch

import kernels
from kernels.cuda import nvrtc
from tests.kernels.variants import CUDA

H200 = nvrtc.GPUS["sm_90"]


def specs(name, rows, cols, pack=4, log=False):
    call = nvrtc.Call(torch.float32, rows, cols, pack, log, H200)
    return kernels.load(name).module.plan(call)


@pytest.mark.parametrize(
    ("itemsize", "address", "counts", "pack"),
    [
        (4, 0, 1024, 4),
        (4, 256, 1024 | 4, 4),
        (4, 8, 1024, 2),  # the second of two floats
        (4, 4, 1024, 1),
        (2, 16, 1024, 8),
        (2, 8, 1024, 4),  # four 16-bit elements are 8 bytes
        (2, 4, 1024, 2),
        (2, 2, 1024, 1),
        (4, 0, 1022, 2),
        (4, 0, 781, 1),
        (4, 0, 1024 | 1023, 1),  # an odd stride
    ],
)
def test_a_pack_is_as_wide_as_alignment_allows(itemsize, address, counts, pack):
    assert nvrtc.widest_pack(itemsize, address, counts) == pack


@pytest.mark.parametrize(
    ("rows", "cols", "pack", "kernel", "blocks"),
    [
        # PACK, columns of a lane, lanes, rows at once, a row is exactly so long
        (8, 16, 4, "4, 4, 4, 2, true", 1),  # 4 lanes a row: 32 rows a block, 64 two at once
        (128, 16, 4, "4, 4, 4, 2, true", 2),
        (127, 16, 4, "4, 4, 4, 1, true", 4),  # M is odd
        (8, 1, 1, "1, 1, 1, 2, true", 1),
        (8, 3, 1, "1, 1, 4, 2, false", 1),
        (8, 128, 4, "4, 4, 32, 2, true", 1),
        (8, 132, 4, "4, 8, 32, 1, false", 2),  # longer than one pack a lane: one row at a time
        (8, 1024, 4, "4, 32, 32, 1, true", 2),
        (8, 1023, 1, "1, 32, 32, 1, false", 2),
        (8, 1022, 2, "2, 32, 32, 1, false", 2),
    ],
)
def test_rows_in_registers(rows, cols, pack, kernel, blocks):
    (spec,) = specs("cuda_oneflow_warp", rows, cols, pack)
    assert spec.kernel == f"oneflow_warp<float, Softmax, {kernel}>"
    assert (spec.threads, spec.blocks) == (128, blocks)


def test_a_lane_never_holds_more_than_32_columns_and_all_columns_are_held():
    for cols in range(1, 1025):
        for pack in (p for p in (1, 2, 4) if cols % p == 0):
            (spec,) = specs("cuda_oneflow_warp", 8, cols, pack)
            words = spec.kernel.removesuffix(">").split(", ")[2:]
            held, lanes = int(words[1]), int(words[2])
            assert held <= 32
            assert held % pack == 0
            assert held * lanes >= cols > (held - pack) * lanes
            assert (held * lanes == cols) == (words[4] == "true")


def test_the_dispatch_takes_the_first_kernel_that_holds_the_row():
    longest = (H200.max_shared_per_block - 32) // 4
    for cols, source in (
        (1, "cuda_oneflow_warp"),
        (1024, "cuda_oneflow_warp"),
        (1025, "cuda_oneflow_smem"),
        (longest, "cuda_oneflow_smem"),
        (longest + 1, "cuda_oneflow_uncached"),
    ):
        assert {spec.source.stem for spec in specs("cuda_oneflow", 8, cols, 1)} == {source}


def test_shared_memory_holds_a_row_of_float32_whatever_the_dtype():
    offered = specs("cuda_oneflow_smem", 8, 4096)
    assert [spec.threads for spec in offered] == [128, 256, 512, 1024]
    assert {spec.shared_bytes for spec in offered} == {4 * 4096}
    # the static part grows with the block: the last rows that fit leave room for few warps only
    longest = (H200.max_shared_per_block - 32) // 4
    assert [s.threads for s in specs("cuda_oneflow_smem", 8, longest, 1)] == [128]
    assert specs("cuda_oneflow_smem", 8, longest + 1, 1) == ()


@pytest.mark.parametrize(
    ("cols", "threads"), [(1, 32), (32, 32), (33, 64), (129, 256), (512, 512), (513, 1024)]
)
def test_fastertransformers_block_is_the_row_rounded_up(cols, threads):
    for version in ("v1", "v2"):
        (spec,) = specs(f"cuda_fastertransformer_{version}", 100 * cols, cols)
        assert spec.threads == threads
        assert spec.kernel == f"fastertransformer_{version}<float, {threads}>"
        assert spec.blocks == {"v1": 100, "v2": 100 * cols}[version]


def test_fastertransformer_gives_every_row_a_block_up_to_120_heads():
    for rows, source in (
        (120 * 64, "cuda_fastertransformer_v2"),
        (120 * 64 + 1, "cuda_fastertransformer_v1"),  # a short 121st group
        (1, "cuda_fastertransformer_v2"),
    ):
        (spec,) = specs("cuda_fastertransformer", rows, 64)
        assert spec.source.stem == source


@pytest.mark.parametrize("name", CUDA)
def test_without_a_gpu_a_variant_says_what_it_needs(name):
    assert "NVIDIA GPU" in kernels.load(name).unsupported(torch.empty(4, 8))


@pytest.mark.parametrize("name", [n for n in CUDA if "fastertransformer" in n])
def test_more_blocks_than_a_launch_can_have_are_refused(name):
    x = torch.empty(1, dtype=torch.bfloat16).expand(2**31, 1)
    assert "a launch has at most 2^31 - 1" in kernels.load(name).unsupported(x)


def test_a_source_that_does_not_compile_raises_with_the_compilers_words(tmp_path):
    broken = tmp_path / "broken.cu"
    broken.write_text("__global__ void f() { nonsense; }")
    with pytest.raises(Exception, match=r"broken\.cu\(1\): error: identifier \"nonsense\""):
        nvrtc.build(broken, ("f",), "sm_90")
