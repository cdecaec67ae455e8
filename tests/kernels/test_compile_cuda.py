"""Every CUDA C++ kernel, in every config a launch can ask for, compiles cleanly without a GPU."""

import itertools
import re
from pathlib import Path

import pytest
import torch

import kernels
from kernels.contract import CLUSTER_CAPABILITY, WARP
from kernels.cuda.plan import GPUS, VEC_BYTES, Problem
from kernels.logits import launch
from kernels.tensors import DTYPES
from tests.kernels.helpers import launches
from tests.kernels.helpers.offline import built, dumped
from tests.kernels.helpers.variants import CONTRIBUTED, CUDA, FRONTIER
from tests.marks import slow

REGISTERS_PER_BLOCK = 65536  # Registers of every compute capability from 5.3 on.
# N at which the kernels of OneFlow and FasterTransformer take each of their configs. Beyond 1024 a
# config no longer depends on N; up to 1024 a lane has 1 to 32 columns, in packs of 1, 2 or 4.
SHORT = [1, 3, 16, 31, 64, 128, 782, 1022, 1023, 1024, 1025]
# Lengths for the frontier, which has an instance for every number of vectors, warps and blocks:
# units of each size, a warp's row, blocks of few and many warps, each cluster, the whole GPU.
LONG = [6, 33, 64, 100, 256, 384, 781, 1024, 3000, 8320, 16384, 50257, 65536, 262144, 2**20]
# One for each of the frontier's kernels that its rule picks: packed, short, rows, staged, spread,
# and spread in tiles; of even lengths aligned and unaligned rows.
FEW = [33, 256, 16384, 100_003, 2**20, 2**23]
OURS = ["frontier", "cuda_backward"]
# Every config is compiled for this GPU; for others those that the frontier picks, and defaults.
TUNED = "sm_90"
# Long unaligned rows in log-softmax, where all the warps that fit are worth more on an H100. On
# sm_80, entropies of float32 rows of whole vectors that begin inside one, which only slices have.
SPILLS = re.compile(
    r"frontier_spread<(float, OnlineLogSoftmax, 8, 1, \d, 80|"
    r"(BFloat16|Half), OnlineLogSoftmax, 4, 2, \d, 64), true, false, \d>|"
    r"logits_forward<float, TokenLogProbEntropy, 8, 4, 1, Access::kShifted>"
)
SPILLED_BYTES = 8
WIDTH = {2: "U16", 4: "", 8: "64", 16: "128"}  # Accesses to global memory, in SASS.


def wanted(names, dtype, arch, columns, narrow=None) -> dict[tuple[Path, str], int]:
    """(source, C++ name) -> threads of a block, of all that these variants may launch.

    `narrow`: as in ``Problem``.
    """
    usages, gpu = {}, GPUS[arch]
    for name, cols, rows, log in itertools.product(names, columns, (7, 8), (False, True)):
        for pack in (p for p in (1, 2, 4, 8) if cols % p == 0 and p * dtype.itemsize <= 16):
            problem = Problem(dtype, rows, cols, pack, log, gpu, narrow)
            for plan in kernels.load(name).module.plan(problem):
                if plan.min_capability <= gpu.capability:
                    usages[plan.source, plan.kernel] = plan.threads
    return usages


def check(usages: dict[tuple[str, str], int], dtype: torch.dtype, arch: str) -> None:
    """Compile these kernels: none warns, spills or asks for more registers than there are."""
    for source, group in itertools.groupby(sorted(usages.items()), key=lambda item: item[0][0]):
        threads = {kernel: size for (_, kernel), size in group}
        binary, used = built(source, threads, arch)
        for kernel, size in threads.items():
            registers, local = used[kernel]
            allowed = SPILLED_BYTES if SPILLS.fullmatch(kernel) else 0
            assert local <= allowed, f"{kernel} on {arch} keeps {local} bytes in local memory"
            assert registers * size <= REGISTERS_PER_BLOCK, f"{kernel} on {arch} cannot start"
        if "oneflow" in source.stem and arch == TUNED:
            a_pack_is_moved_by_one_instruction(binary, threads, dtype)


def a_pack_is_moved_by_one_instruction(binary, kernels_, dtype) -> None:
    """Unrolled loops once had their stores split into elements: 40 % of the speed, no warning."""
    moved = {
        part.split()[0]: set(re.findall(r"\b(?:LDG|STG)\.E(?:\.(U16|64|128))?\b", part))
        for part in dumped(binary.code, "-sass").split("Function : ")[1:]
    }
    for kernel in kernels_:
        pack = int(kernel.removesuffix(">").split(", ")[2])
        expected = {WIDTH[pack * dtype.itemsize]}
        assert moved[binary.symbol_mapping[kernel].decode()] == expected, kernel


def sources(arch: str) -> set[str]:
    """Those that have a kernel for this GPU."""
    old = GPUS[arch].capability < CLUSTER_CAPABILITY
    since_clusters = {"frontier_spread"} if old else set()
    return launches.sources() - since_clusters


def test_what_the_dispatch_picks_compiles_without_a_warning_or_a_spill():
    """In one type each: float32, which the articles have, and bfloat16; float32 of it, too."""
    articles = wanted(CUDA, torch.float32, TUNED, (31, 1024, 1025))  # packs of 1, 4; beyond a warp
    ours = wanted(OURS, torch.bfloat16, TUNED, FEW)
    check(articles, torch.float32, TUNED)
    check(ours, torch.bfloat16, TUNED)
    check(wanted(OURS, torch.float32, TUNED, FEW, torch.bfloat16), torch.float32, TUNED)
    assert {source.stem for source, _ in articles | ours} == sources(TUNED)


# Instances of one operation each: all sums, and a mean of losses, which have the most registers.
OF_LOGITS = [
    launch.forward_planner("TokenLogProbEntropy"),
    launch.backward_planner("TokenLogProb"),
    launch.fused_planner("SmoothedCrossEntropy"),
]


@pytest.mark.parametrize(
    ("arch", "dtype"),
    [
        ("sm_90", torch.bfloat16),
        ("sm_90", torch.float32),
        *(slow(arch, dtype) for arch in ("sm_80", "sm_100") for dtype in DTYPES),
    ],
    ids=str,
)
def test_kernels_of_logits_compile_without_a_warning_or_a_spill(arch, dtype):
    usages, gpu, whole = {}, GPUS[arch], VEC_BYTES // dtype.itemsize
    lengths = 100, 7 * WARP * whole, 12 * WARP * whole - 1, 4001, 9000, 19_000, 50_257, 128_256
    # few rows, whose blocks take several segments at once, and many
    for planner, cols, rows in itertools.product(OF_LOGITS, lengths, (8, 100_000)):
        for pack in {1, whole} if cols % whole == 0 else {1}:
            for plan in planner(Problem(dtype, rows, cols, pack, False, gpu)):
                usages[plan.source, plan.kernel] = plan.threads
    stems = {source.stem for source, _ in usages}
    assert stems == {"logits_forward", "logits_backward", "loss_and_gradient"}
    check(usages, dtype, arch)


@pytest.mark.parametrize("name", [*filter(launches.has_plan, CONTRIBUTED)])
def test_a_contributed_kernel_compiles_without_a_warning_or_a_spill(name):
    for dtype in DTYPES:
        check(wanted([name], dtype, TUNED, FEW), dtype, TUNED)


# (dtype that a kernel computes in, the other dtype of one that converts)
KINDS = [*((dtype, None) for dtype in DTYPES), *((torch.float32, dtype) for dtype in DTYPES[1:])]


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "narrow"), KINDS, ids=str)
@pytest.mark.parametrize("arch", sorted(GPUS))
def test_every_config_of_every_kernel_compiles_without_a_warning_or_a_spill(arch, dtype, narrow):
    # each number of columns of a lane and each config once, where the kernels were tuned
    tuned = arch == TUNED
    usages = {}
    if not narrow:
        usages = wanted(CUDA, dtype, arch, range(1, 1026) if tuned else SHORT)
    configs = [v for v in launches.variants() if tuned and "__" in v]
    usages |= wanted([*FRONTIER, "cuda_backward", *configs], dtype, arch, LONG, narrow)
    if not narrow:
        assert {source.stem for source, _ in usages} == sources(arch)
    check(usages, dtype, arch)
