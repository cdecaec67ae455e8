"""The second roofline: which matrices have it, how rows are divided, and that it is a copy."""

import itertools

import pytest
import torch

import kernels
import operations
from kernels.cuda import launch
from kernels.cuda.plan import GPUS, Problem
from kernels.tensors import DTYPES
from measure.clock import read_meet_write
from measure.clock.read_meet_write import FORMS, SOURCE, plan
from tests.kernels.helpers.offline import built


def candidates(x, op="softmax"):
    return read_meet_write.candidates(operations.load(op), (x, x))


def problem(rows, cols, sm_count=132, pack=4):
    gpu = GPUS["sm_90"]._replace(sm_count=sm_count)
    return Problem(torch.float32, rows, cols, pack, False, gpu)


# The last: a row that the registers of few blocks do not hold.
@pytest.mark.parametrize(
    ("rows", "cols", "arch", "forms"),
    [
        *((131, 65536, "sm_90", 5), (132, 65536, "sm_90", 0), (147, 65536, "sm_100", 5)),
        *((1, 65535, "sm_90", 0), (1, 65536, "sm_80", 0), (1, 540_673, "sm_90", 4)),
    ],
)
def test_few_long_rows_have_the_forms_that_hold_a_row(rows, cols, arch, forms, monkeypatch):
    monkeypatch.setattr(launch, "gpu_info", lambda _: GPUS[arch])
    for op in ("softmax", "logsumexp"):
        assert len(candidates(torch.empty(rows, cols, device="meta"), op)) == forms


def test_rows_are_divided_among_resident_blocks_with_a_counter_for_each_row():
    largest = 4 * 132 * 256 * 4  # elements in all registers of k1w8r4h0
    (whole,) = plan(problem(2, largest), "k1w8r4h0")
    assert (whole.blocks, whole.row_blocks) == (528, 528)
    assert plan(problem(2, largest, pack=1), "k1w8r4h0") == ()  # the row may begin within a vector
    assert plan(problem(24, 524288), "k4w8r4h1")[0].blocks == 4 * 128  # six rounds of four rows
    assert plan(problem(4000, 65536, 10_000), "k8w8r4h1")[0].blocks == 223 * 8  # 18 of 223


@pytest.mark.parametrize("arch", ["sm_90", "sm_100"])
def test_as_many_blocks_are_resident_as_a_form_says(arch):
    every = itertools.product(FORMS, (True, False))
    plans = {(form, writes): plan(problem(1, 2**18), form, writes)[0] for form, writes in every}
    _, used = built(SOURCE, [planned.kernel for planned in plans.values()], arch)
    for (form, _), planned in plans.items():
        registers, local = used[planned.kernel]
        assert (local, registers * planned.threads * FORMS[form][2] <= 65536) == (0, True), form


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("rows", "cols"), [(4, 131072), (3, 100_001), (100, 65537)])
def test_it_copies_between_launches_that_share_its_workspace(rows, cols, dtype):
    x, spread = torch.rand(rows, cols, device="cuda").to(dtype), kernels.load("frontier_spread")
    expected, calls = spread.softmax(x), candidates(x)
    assert len(calls) == len(FORMS)
    for call in calls.values():
        call(x, out := torch.full_like(x, torch.nan))
        assert torch.equal(out, x)
        assert torch.equal(spread.softmax(x), expected)
    for call in candidates(x, "logsumexp").values():
        call(x, untouched := torch.full_like(x[:, 0], torch.nan))
        assert untouched.isnan().all()
        assert torch.equal(spread.softmax(x), expected)


@pytest.mark.gpu
def test_nothing_of_a_row_is_written_before_all_of_it_is_read():
    held = torch.rand(1, 3 * 2**18, device="cuda")
    x, out = held[:, : 2**19], held[:, 2**18 :]  # they overlap
    for call in candidates(x).values():
        before = x.clone()
        call(x, out)
        assert torch.equal(out, before)
