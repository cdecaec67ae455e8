"""Which of the frontier's kernels a row gets, and how it is divided."""

import itertools
import re

import pytest
import torch

import kernels
from kernels.cuda import grid_workspace
from kernels.cuda.plan import GPUS, TYPES, LaunchPlan, Problem, ceil_div
from kernels.cuda.sources import INCLUDE
from kernels.frontier import frontier, frontier_packed, frontier_spread, frontier_staged
from kernels.frontier._tiling import parse
from kernels.frontier.backward import cuda_backward
from measure.clock import read_meet_write

H200 = GPUS["sm_90"]
CONSUMER = H200._replace(capability=(12, 0), max_shared_per_block=99 * 1024, sm_count=188)


def problem(cols, dtype=torch.float32, rows=64, pack=None, gpu=H200):
    widest = min(cols & -cols, 16 // dtype.itemsize)
    return Problem(dtype, rows, cols, pack or widest, False, gpu)


def chosen(cols, dtype=torch.float32, **changes):
    (plan,) = frontier.plan(problem(cols, dtype, **changes))
    return plan


def test_a_border_belongs_to_the_shorter_rows():
    rule = {
        (True, 4): ((64, "a"), (80, "b"), (96, "c")),
        (True, 2): ((64, "d"),),
        (False, 4): ((65, "e"),),
        (False, 2): (),
    }
    for cols, itemsize, expected in (
        (16, 4, "abc"),
        (20, 4, "bc"),
        (28, 4, ""),
        (32, 2, "d"),
        (40, 2, ""),
        (13, 4, "e"),  # no multiple of 16 bytes
        (33, 2, ""),
    ):
        assert [*frontier.choices(cols, itemsize, rule)] == [*expected, *frontier.LAST_RESORTS]


def test_a_config_that_refuses_a_row_leaves_it_to_the_next():
    old = problem(16_385, gpu=GPUS["sm_80"])  # their blocks cannot share a row
    *refused, taken = frontier.choices(old.cols, 4)
    assert refused[0] == "frontier_rows__k4w8"
    for variant in refused:
        stem, config = kernels.split_config(variant)
        assert frontier.PARTS[stem].plan(old, config) == ()
    assert taken == "frontier_staged__k10w16"
    assert frontier.plan(old) == frontier_staged.plan(old, "k10w16") != ()


def division(plan: LaunchPlan) -> tuple:
    """Return what decides a row's sums. Two blocks of a tile each give those of one of two."""
    if plan.source != frontier_spread.SOURCE:
        return plan.source, plan.threads, plan.cluster, plan.row_blocks, plan.extra_args
    per_lane, parts = map(int, re.search(r", (\d+), (\d+), ", plan.kernel).groups())
    blocks, *tiles = plan.extra_args
    pairs = ceil_div(blocks * parts, 2) if per_lane <= frontier_spread.MAX_PAIRED else blocks
    return plan.source, plan.threads, pairs, *tiles


def test_the_rule_is_in_ascending_order_and_names_configs_that_exist():
    assert set(frontier.RULE) == set(itertools.product((True, False), (2, 4)))
    for entries in frontier.RULE.values():
        assert [longest for longest, _ in entries] == sorted(longest for longest, _ in entries)
        for _, variant in entries:
            stem, config = kernels.split_config(variant)
            assert config in frontier.PARTS[stem].CONFIGS


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    ("gpu", "aligned", "unaligned"),
    [(GPUS["sm_80"], 80, 80), (H200, 2**30, 2**30), (CONSUMER, 2**30, 2**30)],
    ids=["sm_80", "sm_90", "sm_120"],
)
def test_every_length_has_a_kernel_up_to_what_the_gpu_holds(gpu, aligned, unaligned, dtype):
    """``frontier`` says in its docstring up to how many KiB."""
    lengths = [*range(1, 600), *range(600, 70_000, 37), *(2**i for i in range(9, 31))]
    lengths += [2**i + step for i in range(13, 30) for step in (1, 8)]
    for cols in lengths:
        row_bytes = cols * dtype.itemsize
        if row_bytes <= 1024 * (unaligned if row_bytes % 16 else aligned):
            assert chosen(cols, dtype, gpu=gpu).min_capability <= gpu.capability
    assert frontier.plan(problem(2**30 + 8, dtype, gpu=gpu)) == ()


@pytest.mark.parametrize(
    ("capability", "max_cluster_blocks"), [((8, 0), 1), ((9, 0), 16), ((12, 0), 8)]
)
def test_a_gpu_gets_no_larger_clusters_than_it_has(capability, max_cluster_blocks):
    gpu = H200._replace(name="another", capability=capability)
    configs = [f"frontier_rows__{config}" for config in kernels.configs("frontier_rows")]
    lengths = 8320, 32768, 131072, 262144, 2**20
    for name, cols in itertools.product(("frontier", *configs), lengths):
        for plan in kernels.load(name).module.plan(problem(cols, gpu=gpu)):
            assert plan.cluster <= max_cluster_blocks


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    "stem", ["frontier", *(stem for stem in frontier.PARTS if stem != "frontier_short")]
)
def test_neither_alignment_nor_batch_decides_how_a_row_is_divided(stem, dtype):
    """Otherwise the same row would have other sums at another address, or in another batch."""
    planner = {"frontier": frontier, **frontier.PARTS}[stem].plan

    def divided(problem: Problem, *config: str) -> list[tuple]:
        return [division(plan) for plan in planner(problem, *config)]

    lengths = [*range(8, 1200, 56), 601, 5001, 33_001, *range(4096, 300_000, 11_008)]
    lengths += range(300_000, 20_000_000, 250_112)
    gpus = [H200._replace(sm_count=count) for count in (132, 148, 20)]
    configs = [(config,) for config in kernels.configs(stem)] or [()]
    for gpu, config, cols in itertools.product(gpus, configs, lengths):
        aligned = divided(problem(cols, dtype, gpu=gpu), *config)
        unaligned = divided(problem(cols, dtype, pack=1, rows=7, gpu=gpu), *config)
        assert aligned == unaligned, (config, cols, gpu)


@pytest.mark.parametrize("narrow", [torch.float16, torch.bfloat16], ids=str)
def test_a_row_that_is_converted_is_divided_as_float32(narrow):
    """So it has the bits of a row that was cast first, in any batch and at any address."""
    lengths = [1, 3, 64, 100, 1000, 1001, 4096, 5001, 8320, 33_001, 131_072, 262_143, 5_000_001]
    for plan_of, cols in itertools.product((frontier.plan, cuda_backward.plan), lengths):
        for pack, rows in itertools.product({1, min(cols & -cols, 4)}, (1, 3000)):
            wide = problem(cols, pack=pack, rows=rows)
            plans, converting = plan_of(wide), plan_of(wide._replace(narrow=narrow))
            for plan, wide_plan in zip(plans, converting, strict=True):
                assert wide_plan.kernel == f"{plan.kernel[:-1]}, {TYPES[narrow]}>"
                assert wide_plan.shared_bytes <= plan.shared_bytes
                alike = {"kernel": plan.kernel, "shared_bytes": plan.shared_bytes}
                assert wide_plan._replace(**alike) == plan


def test_constants_that_python_and_cuda_share_are_the_same():
    header = (INCLUDE / "grid_workspace.cuh").read_text(encoding="utf-8")
    names = "kMaxStates", "kSlots", "kMaxMeetingRows", "kMaxRowStates"
    states, slots, meeting_rows, row_states = (
        int(re.search(rf"\b{name} = (\d+)[;,]", header)[1]) for name in names
    )
    assert states == grid_workspace.MAX_STATES
    assert meeting_rows == grid_workspace.MAX_MEETING_ROWS
    assert row_states == grid_workspace.MAX_ROW_STATES
    lines, words = map(int, re.search(r"counters\[(\d+)\]\[(\d+)\];", header).groups())
    assert lines * words == read_meet_write.MAX_GROUPS
    meeting = meeting_rows * 4 + row_states * 16
    assert slots * states * 16 + 128 + lines * words * 4 + meeting == grid_workspace.BYTES
    packed = dict(
        re.findall(r"int (kPacked\w+) = (\d+);", frontier_packed.SOURCE.read_text(encoding="utf-8"))
    )
    of_python = {"kPackedThreads": frontier_packed.THREADS, "kPackedSums": frontier_packed.SUMS}
    assert {name: int(value) for name, value in packed.items()} == of_python


@pytest.mark.parametrize("config", frontier_packed.CONFIGS)
def test_a_lane_of_a_packed_row_has_the_elements_that_are_read_without_a_check(config):
    """kSure in frontier_packed.cu."""
    for cols in range(1, 10_000):
        for plan in frontier_packed.plan(problem(cols), config):
            per_lane, lanes, warps, _ = map(int, re.findall(r"\d+", plan.kernel))
            sure = per_lane - 2 if warps == 1 else per_lane * (warps - 1) // warps
            assert sure * lanes * warps <= cols <= per_lane * lanes * warps


@pytest.mark.parametrize("itemsize", [2, 4])
def test_at_most_two_vectors_of_a_lane_of_a_staged_row_are_absent(itemsize):
    """kMaybeAbsent in frontier_staged.cu: the other vectors are read without a check."""
    for cols in [*range(1, 20_000), 50257, 151937, 262143, 500_001]:
        vectors = -(-cols * itemsize // 16)
        for config in frontier_staged.CONFIGS:
            shape = frontier_staged.layout_of(vectors, *parse(config).values(), 16)
            if shape:
                per_warp = vectors // (shape.warps * shape.cluster)
                assert 32 * (shape.per_lane - 1) <= per_warp <= 32 * shape.per_lane
                assert shape.warps * shape.cluster > 1
