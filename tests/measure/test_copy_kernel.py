"""The roofline moves what the operation moves: it reads one matrix or two, and writes one."""

import collections
import re

import pytest
import torch

from measure.clock import copy_kernel
from tests.kernels.helpers.offline import compiled, dumped
from tests.marks import slow


# Fewer elements than are packed; whole blocks; an odd matrix: what is left over has a block of its
# own. Slow: the edges of a pack; float16, which is as wide as bfloat16.
@pytest.mark.parametrize("n", [slow(1), 15, slow(16), slow(17), 32_768, 33 * 4099])
@pytest.mark.parametrize("dtype", [torch.float32, slow(torch.float16), torch.bfloat16], ids=str)
def test_every_shape_writes_all_of_a_copy_and_of_a_sum_and_nothing_else(dtype, n, device):
    g, y = (torch.randint(-8, 8, (n,), device=device).to(dtype) for _ in range(2))
    for read, expected in (((g,), g), ((g, y), g + y)):
        calls = copy_kernel.candidates(dtype.itemsize, len(read)).values()
        assert len(calls) == len(copy_kernel.SHAPES)
        for call in calls:
            held = torch.full((16 + n + 64,), 9.0, dtype=dtype, device=device)
            out = held[16 : 16 + n]
            call(*read, out.fill_(torch.nan))
            assert torch.equal(out, expected)
            assert (held[:16] == 9).all()
            assert (held[16 + n :] == 9).all()


# Each dtype and each number of matrices once: the kernel has a loop over words for all of them.
@pytest.mark.parametrize(
    ("dtype", "reads"),
    [("float32", 1), ("bfloat16", 2), slow("float32", 2), slow("bfloat16", 1)],
)
def test_all_but_the_last_of_an_odd_number_of_elements_move_in_words_of_16_bytes(dtype, reads):
    """Read in the machine code for compute capability 9.0: words, and once what is left over."""
    found = compiled(
        "from measure.clock import copy_kernel\n"
        f"matrices = [torch.empty({42_963 * 781}, dtype=torch.{dtype})] * {reads + 1}\n"
        f"for copy in copy_kernel.candidates(matrices[0].itemsize, {reads}).values():\n"
        "    copy(*matrices)"
    )
    element = {"float32": "E", "bfloat16": "E.U16"}[dtype]
    for (*_, cubin), (size, warps) in zip(found, copy_kernel.SHAPES, strict=True):
        words = size // (warps * 32 * 16)  # per thread
        assert collections.Counter(re.findall(r"(?:LDG|STG)\.E[.\w]*", dumped(cubin, "-sass"))) == {
            "LDG.E.128": words * reads,
            "STG.E.128": words,
            f"LDG.{element}": reads,
            f"STG.{element}": 1,
        }
