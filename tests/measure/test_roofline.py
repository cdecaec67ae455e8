"""The roofline: which copies and sums there are, how their blocks are chosen, what they write."""

import io

import pytest
import torch

from kernels.cuda import launch, nvrtc
from kernels.cuda.plan import GPUS, Problem
from measure.clock import copy_kernel, roofline
from measure.clock.roofline import Bulk, Vecs, plan
from tests.kernels.helpers.offline import resources
from tests.kernels.helpers.variants import DTYPES

KINDS = {reads: kind for kind, reads in roofline.READS.items()}
EVERY = [(reads, form) for reads, forms in roofline.FORMS.items() for form in forms]


def of_arch(arch):
    capability = GPUS[arch].capability
    return [(reads, form) for reads, form in EVERY if capability >= form.min_capability]


@pytest.mark.parametrize("reads", [1, 2])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_forms_join_triton_s_copies_where_the_gpu_and_the_addresses_allow(reads, arch, monkeypatch):
    monkeypatch.setattr(launch, "gpu_info", lambda _: GPUS[arch])
    triton = copy_kernel.BLOCK_BYTES.keys()
    matrices = [torch.empty(4, 1000) for _ in range(reads + 1)]
    names = roofline.candidates(KINDS[reads], matrices).keys()
    assert names == set(roofline.FASTEST_OF_TRITON) | {
        form.name for number, form in of_arch(arch) if number == reads
    }
    assert all(roofline.block_bytes(name) > 0 for name in names)
    if reads == 1:
        assert any(name.startswith("bulk") for name in names) == (arch == "sm_90")
    unaligned = torch.empty(4001)[1:].view(4, 1000)
    assert roofline.candidates(KINDS[reads], [*matrices[1:], unaligned]).keys() == triton


def problem(elements, sm_count=100):
    gpu = GPUS["sm_90"]._replace(sm_count=sm_count)
    return Problem(torch.float32, 1, elements, 4, False, gpu)


def test_blocks_have_as_many_turns_as_each_other_or_one_less():
    step = 4 * 8 * 32 * 4  # elements of a turn

    def blocks(form, elements):
        (found,) = plan(problem(elements), form)
        return found.blocks

    assert blocks(Vecs(4, 8, 0, 0), 1) == 1
    assert blocks(Vecs(4, 8, 0, 0), 1000 * step + 1) == 1001
    assert blocks(Vecs(4, 8, 0, 2), 200 * step) == 200
    assert blocks(Vecs(4, 8, 0, 2), 201 * step) == 101  # of two turns; 200 would leave 199 idle
    ring = Bulk(4 * step, 4, 0, 0)
    assert blocks(ring, 400 * step) == 100  # the ring holds all that a block copies
    assert blocks(ring._replace(per_sm=1), 401 * step) == 81
    assert plan(problem(4), ring)[0].shared_bytes == 16 * step
    older = problem(4)._replace(gpu=GPUS["sm_80"])
    assert plan(older, ring) == ()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_no_form_spills_and_as_many_blocks_are_resident_as_it_says(arch):
    chosen = {form.kernel(dtype, reads): form for reads, form in of_arch(arch) for dtype in DTYPES}
    log = io.StringIO()
    binary = nvrtc.build(roofline.SOURCE, tuple(chosen), arch, log)
    assert "warning" not in log.getvalue(), log.getvalue()
    found = resources(binary.code)
    for name, form in chosen.items():
        registers, local = found[binary.symbol_mapping[name].decode()]
        assert local == 0, name
        assert registers * form.warps * 32 * form.per_sm <= 65536, name
        reserved = 1024  # bytes of shared memory of each block
        assert (form.shared_bytes + reserved) * form.per_sm <= 228 * 1024, name


# Less than a vector; vectors and a part of one; several turns of all blocks.
@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(1, 3), (3, 1001), (5, 16_000_001)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_candidate_writes_the_copy_or_the_sum_and_nothing_else(dtype, shape):
    g, y = (torch.randn(shape, device="cuda").to(dtype) for _ in range(2))
    for read, expected in (((g,), g), ((g, y), g + y)):
        held = torch.full((g.numel() + 64,), 9.0, dtype=dtype, device="cuda")
        out = held[: g.numel()].view(shape)
        calls = roofline.candidates(KINDS[len(read)], (*read, out))
        assert len(calls) == len(roofline.FASTEST_OF_TRITON) + len(roofline.FORMS[len(read)])
        for name, call in calls.items():
            call(*read, out.fill_(torch.nan))
            assert torch.equal(out, expected), name
            assert (held[g.numel() :] == 9).all(), name
