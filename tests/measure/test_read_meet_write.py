"""The second roofline: which matrices have it, how rows are divided, and that it is a copy."""

import io

import pytest
import torch

import kernels
from kernels.cuda import nvrtc
from kernels.cuda.plan import GPUS, Problem
from measure.clock import read_meet_write
from measure.clock.read_meet_write import FORMS, SOURCE, plan
from tests.kernels.helpers.offline import resources
from tests.kernels.helpers.variants import DTYPES
from tests.marks import slow

H200 = GPUS["sm_90"]


def problem(rows, cols, gpu=H200, pack=4, dtype=torch.float32):
    return Problem(dtype, rows, cols, pack, False, gpu)


# As many rows as multiprocessors, shorter rows, a GPU without clusters.
@pytest.mark.parametrize(
    ("rows", "cols", "gpu", "expected"),
    [
        (1, 65536, "sm_90", True),
        (131, 65536, "sm_90", True),
        (132, 65536, "sm_90", False),
        (147, 65536, "sm_100", True),
        (1, 65535, "sm_90", False),
        (1, 65536, "sm_80", False),
    ],
)
def test_it_applies_to_few_long_rows_of_a_gpu_with_clusters(rows, cols, gpu, expected):
    assert read_meet_write.applies(problem(rows, cols, GPUS[gpu])) == expected


def test_a_form_takes_the_rows_that_its_resident_blocks_hold():
    for form, (per_lane, warps, per_sm, _) in FORMS.items():
        most = per_sm * 132 * warps * 32 * per_lane * 4  # float32 elements
        (whole,) = plan(problem(2, most), form)
        assert (whole.blocks, whole.row_blocks) == (per_sm * 132, per_sm * 132)
        assert plan(problem(2, most + 4), form) == ()
        assert plan(problem(2, most, pack=1), form) == ()  # a row may begin within a vector


def test_rows_are_spread_evenly_over_rounds_and_have_a_counter_each():
    (two_rounds,) = plan(problem(24, 524288), "k4w8r4h1")  # 128 blocks a row, four rows at once
    assert (two_rounds.blocks, two_rounds.extra_args) == (4 * 128, (128,))
    many = H200._replace(sm_count=10_000)
    (counters,) = plan(problem(4000, 65536, many), "k8w8r4h1")
    assert counters.blocks == 223 * 8  # 18 rounds, of 224 counters at most


@pytest.mark.parametrize("dtype", [DTYPES[0], *map(slow, DTYPES[1:])], ids=str)
@pytest.mark.parametrize("arch", ["sm_90", "sm_100"])
def test_as_many_blocks_are_resident_as_a_form_says(arch, dtype):
    plans = {form: plan(problem(1, 2**18, GPUS[arch], 4, dtype), form)[0] for form in FORMS}
    log, names = io.StringIO(), [each.kernel for each in plans.values()]
    binary = nvrtc.build(SOURCE, tuple(names), arch, log)
    assert "warning" not in log.getvalue(), log.getvalue()
    for form, each in plans.items():
        registers, local = resources(binary.code)[binary.symbol_mapping[each.kernel].decode()]
        assert local == 0, f"{each.kernel} spills"
        assert registers * each.threads * FORMS[form][2] <= 65536


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("rows", "cols"), [(4, 131072), (3, 100_001), (100, 65537)])
def test_it_copies_between_launches_that_share_its_workspace(rows, cols, dtype):
    x, spread = torch.rand(rows, cols, device="cuda").to(dtype), kernels.load("frontier_spread")
    expected, calls = spread.softmax(x), read_meet_write.candidates(x)
    assert calls
    for call in calls.values():
        out = torch.full_like(x, torch.nan)
        call(x, out)
        assert torch.equal(out, x)
        assert torch.equal(spread.softmax(x), expected)
