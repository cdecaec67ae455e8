"""The roofline: which copies and sums there are, how their blocks are chosen, what they write."""

import pytest
import torch

import operations
from kernels.cuda import launch
from kernels.cuda.plan import GPUS, Problem
from kernels.tensors import DTYPES
from measure.clock import copy_kernel, roofline
from measure.clock.roofline import Bulk, Vecs, plan
from measure.inputs import empty_out
from operations import ROOFLINES
from tests.kernels.helpers.offline import built

EVERY = [(kind, form) for kind, forms in roofline.FORMS.items() for form in forms]
# An operation of each roofline.
OPERATIONS = {"copy": "softmax", "add": "softmax_backward", "read": "logsumexp"}


def of_arch(arch):
    capability = GPUS[arch].capability
    return [(kind, form) for kind, form in EVERY if capability >= form.min_capability]


def buffers(kind, shape, dtype=torch.float32, device="cpu"):
    """Random inputs, and the output, of a call of the operation with this roofline."""
    matrices = (torch.randn(shape, device=device).to(dtype) for _ in range(ROOFLINES[kind][0]))
    inputs = tuple(matrices)
    return *inputs, empty_out(OPERATIONS[kind], inputs)


@pytest.mark.parametrize("kind", ROOFLINES)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_forms_join_triton_s_copies_where_the_gpu_and_the_addresses_allow(kind, arch, monkeypatch):
    monkeypatch.setattr(launch, "gpu_info", lambda _: GPUS[arch])
    triton, operation = copy_kernel.BLOCK_BYTES.keys(), operations.load(OPERATIONS[kind])
    aligned = buffers(kind, (4, 1000))
    names = roofline.candidates(operation, aligned).keys()
    assert names == set(roofline.FASTEST_OF_TRITON) | {
        form.name for kind_of_form, form in of_arch(arch) if kind_of_form == kind
    }
    assert all(roofline.block_bytes(name) > 0 for name in names)
    if kind != "add":
        assert any(name.startswith("bulk") for name in names) == (arch == "sm_90")
    unaligned = torch.empty(4001)[1:].view(4, 1000)
    assert roofline.candidates(operation, (unaligned, *aligned[1:])).keys() == triton


def problem(elements, sm_count=100):
    gpu = GPUS["sm_90"]._replace(sm_count=sm_count)
    return Problem(torch.float32, 1, elements, 4, False, gpu)


def test_blocks_have_as_many_turns_as_each_other_or_one_less():
    step = 4 * 8 * 32 * 4  # elements of a turn

    def blocks(form, elements):
        (launch_plan,) = plan(problem(elements), form)
        return launch_plan.blocks

    assert blocks(Vecs(4, 8, 0, 0), 1) == 1
    assert blocks(Vecs(4, 8, 0, 0), 1000 * step + 1) == 1001
    assert blocks(Vecs(4, 8, 0, 2), 200 * step) == 200
    assert blocks(Vecs(4, 8, 0, 2), 201 * step) == 101  # two turns each; 200 would leave 199 idle
    ring = Bulk(4 * step, 4, 0, 0)
    assert blocks(ring, 400 * step) == 100  # the ring holds all that a block copies
    assert blocks(ring._replace(per_sm=1), 401 * step) == 81
    assert plan(problem(4), ring)[0].shared_bytes == 16 * step
    older = problem(4)._replace(gpu=GPUS["sm_80"])
    assert plan(older, ring) == ()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_no_form_spills_and_as_many_blocks_are_resident_as_it_says(arch):
    chosen = {form.kernel(dtype, kind): form for kind, form in of_arch(arch) for dtype in DTYPES}
    _, used = built(roofline.SOURCE, chosen, arch)
    for name, form in chosen.items():
        registers, local = used[name]
        assert local == 0, name
        assert registers * form.warps * 32 * form.per_sm <= 65536, name
        reserved = 1024  # bytes of shared memory of each block
        assert (form.shared_bytes + reserved) * form.per_sm <= 228 * 1024, name


# Less than a vector; vectors and a part of one; several turns of all blocks.
@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(1, 3), (3, 1001), (5, 16_000_001)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_candidate_writes_the_copy_or_the_sum_and_nothing_else(dtype, shape):
    for kind in ROOFLINES:
        *read, out = buffers(kind, shape, dtype, "cuda")
        expected = sum(read[1:], read[0])
        held = torch.full((out.numel() + 64,), 9.0, dtype=out.dtype, device="cuda")
        out = held[: out.numel()].view(out.shape)
        calls = roofline.candidates(operations.load(OPERATIONS[kind]), (*read, out))
        assert len(calls) == len(roofline.FASTEST_OF_TRITON) + len(roofline.FORMS[kind])
        for name, call in calls.items():
            call(*read, out)
            assert kind == "read" or torch.equal(out, expected), name
            assert (held[out.numel() :] == 9).all(), name
            out.fill_(torch.nan)
