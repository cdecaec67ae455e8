"""Which of the frontier's kernels a row gets: by a table, or by rule of thumb."""

import csv
import re

import pytest
import torch

import kernels
from kernels.cuda import grid_workspace, nvrtc
from kernels.frontier import (
    _tuning,
    frontier,
    frontier_packed,
    frontier_staged,
)
from kernels.frontier._tiling import parse
from tests.processes import run_code

H200 = nvrtc.GPUS["sm_90"]
TABLES = sorted(_tuning.FOLDER.glob(_tuning.TABLES))


def call(cols, dtype=torch.float32, rows=64, pack=None, gpu=H200):
    widest = min(cols & -cols, 16 // dtype.itemsize)
    return nvrtc.Call(dtype, rows, cols, pack or widest, False, gpu)


def test_the_next_longer_row_decides_or_else_the_nearest(tables):
    tables(
        (H200.name, "float32", 1024, "frontier_rows__k2w16"),
        (H200.name, "float32", 8192, "frontier_rows__k8w4"),
        (H200.name, "bfloat16", 1024, "frontier_rows__k2w8"),
        (H200.name, "float32", 781, "frontier_rows__k4w16"),
        ("NVIDIA A100", "float32", 1024, "frontier_rows__k8w16"),
    )
    for cols, dtype, expected in (
        (1024, torch.float32, "frontier_rows__k2w16"),
        (1028, torch.float32, "frontier_rows__k8w4"),
        (4096, torch.float32, "frontier_rows__k8w4"),
        (16384, torch.float32, "frontier_rows__k8w4"),  # none is longer
        (1024, torch.float16, "frontier_rows__k2w8"),  # as bfloat16, until it has its own
        (1023, torch.float32, "frontier_rows__k4w16"),  # rows are no multiple of a vector
    ):
        assert frontier.choices(call(cols, dtype))[0] == expected


def test_a_gpu_without_a_table_takes_that_of_its_compute_capability(tables):
    tables(
        (H200.name, "float32", 1024, "frontier_rows__k2w16"),
        (H200.name, "bfloat16", 1024, "frontier_rows__k4w8"),
        ("NVIDIA H20", "float32", 1024, "frontier_rows__k8w4"),
    )

    def first(name, dtype=torch.float32):
        return frontier.choices(call(1024, dtype, gpu=H200._replace(name=name)))[0]

    assert first("NVIDIA GH200") == "frontier_rows__k2w16"
    assert first("NVIDIA H20") == "frontier_rows__k8w4"
    # of which its table says nothing
    assert first("NVIDIA H20", torch.bfloat16) == "frontier_rows__k4w8"
    for arch in ("sm_80", "sm_100"):
        a_call = call(1024, gpu=nvrtc.GPUS[arch])
        assert frontier.choices(a_call) == frontier.by_rule(a_call)


def test_whoever_stands_in_has_a_table_and_the_compute_capability():
    of = {gpu.name: gpu for gpu in nvrtc.GPUS.values()}
    for capability, name in _tuning.STANDS_IN.items():
        assert of[name].capability == capability
        assert list(_tuning.candidates(call(1024, gpu=of[name])))


def test_a_winner_that_cannot_take_the_row_is_passed_over(tables):
    tables((H200.name, "float32", 64, "frontier_short__u1"))
    (spec,) = frontier.plan(call(64))
    assert spec.source.stem == "frontier_short"
    (spec,) = frontier.plan(call(4096))
    assert spec.source.stem == "frontier_rows"


@pytest.mark.parametrize("with_table", [True, False])
def test_the_division_of_a_row_depends_on_neither_the_batch_nor_the_address(tables, with_table):
    if with_table:
        tables(
            (H200.name, "float32", 64, "frontier_short__u1"),
            (H200.name, "float32", 8192, "frontier_rows__k8w4"),
            (H200.name, "float32", 781, "frontier_rows__k2w16"),
        )
    for cols in (48, 64, 256, 781, 1024, 8192, 50257, 131072, 2**22):
        choice = {
            tuple(frontier.choices(call(cols, rows=rows, pack=pack)))
            for rows in (1, 7, 4096)
            for pack in (1, call(cols).pack)
        }
        assert len(choice) == 1


def test_every_table_names_configs_that_exist_and_can_take_the_row():
    for path in TABLES:
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                kernels.check_name(row["variant"])
                stem, config = kernels.split(row["variant"])
                given = call(int(row["N"]), getattr(torch, row["dtype"]))
                assert frontier.PARTS[stem].plan(given, config), row


def test_the_rule_covers_every_length(tables):
    for dtype in (torch.float32, torch.bfloat16):
        for cols in [*range(1, 300), 781, 8320, 50257, 151937, *(2**i for i in range(9, 27))]:
            assert frontier.plan(call(cols, dtype))


def test_the_rule_has_kernels_for_rows_that_are_no_multiple_of_a_vector(tables):
    def source(cols: int, dtype: torch.dtype) -> str:
        (spec,) = frontier.plan(call(cols, dtype))
        return spec.source.stem

    for dtype, cols, expected in (
        (torch.bfloat16, 33, "frontier_packed"),
        (torch.float32, 511, "frontier_packed"),
        (torch.bfloat16, 3001, "frontier_rows"),
        (torch.bfloat16, 50257, "frontier_staged"),
        (torch.float32, 50257, "frontier_staged"),
        (torch.bfloat16, 32, "frontier_short"),
        (torch.bfloat16, 50304, "frontier_rows"),
        (torch.bfloat16, 300001, "frontier_spread"),
    ):
        assert source(cols, dtype) == expected, (dtype, cols)


def test_the_tables_are_part_of_what_the_frontier_is(project):
    (project / "kernels/frontier/tuning").mkdir(exist_ok=True)
    code = (
        "import kernels\n"
        "for words in ('frontier b200', 'frontier b300', 'frontier h200', 'frontier_rows b200'):\n"
        "    print(kernels.sha256(*words.split()))"
    )

    def hashes() -> list[str]:
        return run_code(code, cwd=project).split()

    before = hashes()
    (project / "kernels/frontier/tuning/b200.csv").write_text("gpu_name,dtype,N,variant\n")
    after = hashes()
    # the GPU's own, and another's where it has none
    assert [a != b for a, b in zip(before, after, strict=True)] == [True, True, False, False]
    names = {path.name for path in kernels.sources("frontier")}
    assert {"frontier_spread.cu", "vec.cuh", "_tuning.py"} <= names


def test_a_gpu_of_small_clusters_gets_no_larger_ones():
    rtx5090 = nvrtc.Gpu("NVIDIA GeForce RTX 5090", (12, 0), 99 * 1024, 170)
    for cols in (8320, 32768, 131072, 262144, 2**20):
        for choice in (
            "frontier",
            *(f"frontier_rows__{f}" for f in kernels.configs("frontier_rows")),
        ):
            module = kernels.load(choice).module
            for spec in module.plan(call(cols, gpu=rtx5090)):
                assert spec.cluster <= 8


def test_rows_that_no_kernel_can_count_are_refused():
    assert frontier.plan(call(2**30, torch.bfloat16))
    assert frontier.plan(call(2**30 + 8, torch.bfloat16)) == ()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("stem", [stem for stem in frontier.PARTS if stem != "frontier_short"])
def test_the_alignment_does_not_decide_how_a_row_is_divided(stem, dtype):
    """Otherwise the same row would have other sums at another address."""
    lengths = [*range(8, 1200, 56), *range(4096, 300_000, 11_008)]
    lengths += range(300_000, 20_000_000, 250_112)
    for sm_count in (132, 148, 20):
        gpu = H200._replace(sm_count=sm_count)
        for config in kernels.configs(stem):
            for cols in lengths:
                of = kernels.load(stem).module.plan
                aligned, unaligned = (
                    [(s.threads, s.blocks, s.cluster, s.extra_args) for s in of(a_call, config)]
                    for a_call in (call(cols, dtype, gpu=gpu), call(cols, dtype, pack=1, gpu=gpu))
                )
                if stem == "frontier_spread":  # blocks follow from the number of rows in flight
                    aligned, unaligned = (
                        [(s[0], *s[2:]) for s in each] for each in (aligned, unaligned)
                    )
                assert aligned == unaligned, (config, cols, sm_count)


def test_constants_that_python_and_cuda_share_are_the_same():
    def constant(file, name):
        folder = nvrtc.INCLUDE if file.endswith(".cuh") else _tuning.FOLDER
        text = (folder / file).read_text()
        return int(re.search(rf"constexpr int {name} = (\d+);", text)[1])

    most = constant("grid_workspace.cuh", "kMaxStates")
    assert most == grid_workspace.MAX_STATES
    assert constant("grid_workspace.cuh", "kSlots") * most * 16 + 16 <= grid_workspace.BYTES
    assert constant("frontier_packed.cu", "kThreads") == frontier_packed.THREADS


@pytest.mark.parametrize("row_bytes", [10_000, 33_000, 50_000, 64 * 1024 - 4])
def test_without_clusters_a_block_takes_unaligned_rows_up_to_64_kib(row_bytes):
    """As the docstring of ``frontier`` says."""
    for dtype in (torch.float32, torch.bfloat16):
        cols = row_bytes // dtype.itemsize - (row_bytes // dtype.itemsize + 1) % 2
        specs = frontier.plan(call(cols, dtype, gpu=nvrtc.GPUS["sm_80"]))
        assert [spec.min_capability for spec in specs] == [nvrtc.OLDEST]


@pytest.mark.parametrize("itemsize", [2, 4])
def test_at_most_two_vectors_of_a_lane_of_a_staged_row_are_absent(itemsize):
    """kMaybeAbsent in frontier_staged.cu: the other vectors are read without a check."""
    for cols in [*range(1, 20_000), 50257, 151937, 262143, 500_001]:
        vectors = -(-cols * itemsize // 16)
        for config in frontier_staged.CONFIGS:
            found = frontier_staged.shape_of(vectors, *parse(config).values(), 16)
            if found:
                per_warp = vectors // (found.warps * found.cluster)
                assert 32 * (found.per_lane - 1) <= per_warp <= 32 * found.per_lane
                assert found.warps * found.cluster > 1
