"""Which of the frontier's kernels a row gets: by a table, or by rule of thumb."""

import csv
import itertools
import re

import pytest
import torch

import kernels
from kernels import contract
from kernels.cuda import grid_workspace
from kernels.cuda.nvrtc import INCLUDE
from kernels.cuda.plan import GPUS, Problem
from kernels.frontier import _tuning, frontier, frontier_staged
from kernels.frontier._tiling import parse
from tests.processes import run_code

H200 = GPUS["sm_90"]


def problem(cols, dtype=torch.float32, rows=64, pack=None, gpu=H200):
    widest = min(cols & -cols, 16 // dtype.itemsize)
    return Problem(dtype, rows, cols, pack or widest, False, gpu)


def test_a_row_takes_the_winner_of_the_next_longer_row_of_its_gpu_or_one_like_it(tables):
    tables(
        (H200.name, "float32", 1024, "frontier_rows__k2w16"),
        (H200.name, "float32", 8192, "frontier_rows__k8w4"),
        (H200.name, "bfloat16", 1024, "frontier_rows__k2w8"),
        (H200.name, "float32", 781, "frontier_rows__k4w16"),
        ("NVIDIA H20", "float32", 1024, "frontier_rows__k8w16"),
    )
    for gpu, dtype, cols, expected in (
        (H200.name, torch.float32, 1024, "k2w16"),
        (H200.name, torch.float32, 1028, "k8w4"),
        (H200.name, torch.float32, 16384, "k8w4"),  # none is longer: the nearest
        (H200.name, torch.float16, 1024, "k2w8"),  # as bfloat16, until it has its own
        (H200.name, torch.float32, 1023, "k4w16"),  # rows are no multiple of a vector
        ("NVIDIA GH200", torch.float32, 1024, "k2w16"),  # of the same compute capability
        ("NVIDIA H20", torch.float32, 1024, "k8w16"),
        ("NVIDIA H20", torch.bfloat16, 1024, "k2w8"),  # its table has no bfloat16
    ):
        found = frontier.choices(problem(cols, dtype, gpu=H200._replace(name=gpu)))
        assert next(found) == f"frontier_rows__{expected}"
    for arch in ("sm_80", "sm_100"):
        assert not list(_tuning.candidates(problem(1024, gpu=GPUS[arch])))


def test_the_gpu_of_a_fallback_has_a_table_and_the_compute_capability():
    for capability, name in contract.FALLBACK_TUNING.items():
        (gpu,) = (gpu for gpu in GPUS.values() if gpu.name == name)
        assert gpu.capability == capability
        assert list(_tuning.candidates(problem(1024, gpu=gpu)))


def test_a_winner_that_cannot_take_the_row_is_passed_over(tables):
    tables((H200.name, "float32", 64, "frontier_short__u1"))
    for cols, source in ((64, "frontier_short"), (4096, "frontier_rows")):
        (plan,) = frontier.plan(problem(cols))
        assert plan.source.stem == source


def test_every_table_names_configs_that_exist_and_can_take_the_row():
    for path in _tuning.FRONTIER.glob(_tuning.TABLES):
        for row in csv.DictReader(path.read_text().splitlines()):
            kernels.variant_file(row["variant"])
            stem, config = kernels.split_config(row["variant"])
            given = problem(int(row["N"]), getattr(torch, row["dtype"]))
            assert frontier.PARTS[stem].plan(given, config), row


def test_the_rule_takes_every_length_that_a_kernel_can_count(tables):
    for dtype in (torch.float32, torch.bfloat16):
        for cols in [*range(1, 300), 781, 8320, 50257, 151937, *(2**i for i in range(9, 27))]:
            assert frontier.plan(problem(cols, dtype))
    assert frontier.plan(problem(2**30, torch.bfloat16))
    assert frontier.plan(problem(2**30 + 8, torch.bfloat16)) == ()


def test_the_tables_are_part_of_what_the_frontier_is(project):
    code = (
        "from kernels import kernel_sha256\n"
        "for gpu in ('b200', 'b300', 'h100', 'h200'): print(kernel_sha256('frontier', gpu))\n"
        "print(kernel_sha256('frontier_rows', 'b200'))"
    )

    def changed_by(table: str) -> list[bool]:
        before = run_code(code, cwd=project).split()
        with (project / "kernels/frontier/tuning" / table).open("a") as file:
            file.write("a line\n")
        return [a != b for a, b in zip(before, run_code(code, cwd=project).split(), strict=True)]

    # the GPU's own, and another's where it has none
    assert changed_by("b200.csv") == [True, True, False, False, False]
    # an "NVIDIA H100 NVL" has no lines in h100.csv and takes the H200's
    assert changed_by("h200.csv") == [True, True, True, True, False]


@pytest.mark.parametrize(("capability", "most"), [((8, 0), 1), ((9, 0), 16), ((12, 0), 8)])
def test_a_gpu_gets_no_larger_clusters_than_it_has(capability, most):
    gpu = H200._replace(name="another", capability=capability)
    configs = [f"frontier_rows__{config}" for config in kernels.configs("frontier_rows")]
    lengths = 8320, 32768, 131072, 262144, 2**20
    for name, cols in itertools.product(("frontier", *configs), lengths):
        for plan in kernels.load(name).module.plan(problem(cols, gpu=gpu)):
            assert plan.cluster <= most


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("stem", [stem for stem in frontier.PARTS if stem != "frontier_short"])
def test_neither_alignment_nor_batch_decides_how_a_row_is_divided(stem, dtype):
    """Otherwise the same row would have other sums at another address, or in another batch."""

    def division(config: str, given: Problem) -> list[tuple]:
        other = given._replace(pack=1, rows=64)
        assert list(frontier.choices(given)) == list(frontier.choices(other))
        found = frontier.PARTS[stem].plan(given, config)
        return [(p.threads, p.cluster, p.row_blocks, p.extra_args) for p in found]

    lengths = [*range(8, 1200, 56), *range(4096, 300_000, 11_008)]
    lengths += range(300_000, 20_000_000, 250_112)
    gpus = [H200._replace(sm_count=count) for count in (132, 148, 20)]
    for gpu, config, cols in itertools.product(gpus, kernels.configs(stem), lengths):
        aligned = division(config, problem(cols, dtype, gpu=gpu))
        unaligned = division(config, problem(cols, dtype, pack=1, rows=7, gpu=gpu))
        assert aligned == unaligned, (config, cols, gpu)


def test_constants_that_python_and_cuda_share_are_the_same():
    header = (INCLUDE / "grid_workspace.cuh").read_text()
    names = "kMaxStates", "kSlots"
    states, slots = (int(re.search(rf"int {name} = (\d+);", header)[1]) for name in names)
    assert states == grid_workspace.MAX_STATES
    assert slots * states * 16 + 16 <= grid_workspace.BYTES


@pytest.mark.parametrize("row_bytes", [10_000, 33_000, 50_000, 64 * 1024 - 4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_without_clusters_a_block_takes_unaligned_rows_up_to_64_kib(dtype, row_bytes):
    """As the docstring of ``frontier`` says."""
    cols = row_bytes // dtype.itemsize - (row_bytes // dtype.itemsize + 1) % 2
    (plan,) = frontier.plan(problem(cols, dtype, gpu=GPUS["sm_80"]))
    assert plan.min_capability == contract.MIN_CAPABILITY


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
