"""The roofline moves what the operation moves: it reads one matrix or two, and may write one."""

import collections
import re

import pytest
import torch

from measure.clock import copy_kernel
from operations import ROOFLINES
from tests.kernels.helpers.offline import compiled, dumped
from tests.marks import slow


# Fewer elements than are packed; whole blocks; an odd matrix: what is left over has a block of its
# own. Slow: the edges of a pack; float16, which is as wide as bfloat16.
@pytest.mark.parametrize("n", [slow(1), 15, slow(16), slow(17), 32_768, 33 * 4099])
@pytest.mark.parametrize("dtype", [torch.float32, slow(torch.float16), torch.bfloat16], ids=str)
def test_every_shape_writes_all_of_a_copy_and_of_a_sum_and_nothing_else(dtype, n, device):
    g, y = (torch.randint(-8, 8, (n,), device=device).to(dtype) for _ in range(2))
    for kind, read, expected in (("copy", (g,), g), ("add", (g, y), g + y)):
        calls = copy_kernel.candidates(kind, g).values()
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
    ("dtype", "kind"),
    [
        *(("float32", "copy"), ("bfloat16", "add"), ("bfloat16", "read")),
        *(slow("float32", "add"), slow("bfloat16", "copy"), slow("float32", "read")),
    ],
)
def test_all_but_the_last_of_an_odd_number_of_elements_move_in_words_of_16_bytes(dtype, kind):
    """Read in the machine code for compute capability 9.0: words, and once what is left over."""
    reads, writes = ROOFLINES[kind]
    ptx = compiled(
        "from measure.clock import copy_kernel\n"
        f"matrices = [torch.empty({42_963 * 781}, dtype=torch.{dtype})] * {reads + writes}\n"
        f"for move in copy_kernel.candidates({kind!r}, matrices[0]).values():\n"
        "    move(*matrices)"
    )
    element = {"float32": "E", "bfloat16": "E.U16"}[dtype]
    for (*_, cubin), (size, warps) in zip(ptx, copy_kernel.SHAPES, strict=True):
        words = size // (warps * 32 * 16)  # per thread
        assert collections.Counter(re.findall(r"(?:LDG|STG)\.E[.\w]*", dumped(cubin, "-sass"))) == {
            "LDG.E.128": words * reads,
            f"LDG.{element}": reads,
            **({"STG.E.128": words, f"STG.{element}": 1} if writes else {"STG.E": 1}),
        }


@pytest.mark.parametrize("n", [15, 33 * 4099])
def test_a_reading_reads_every_element(n, device):
    x = torch.randint(-8, 8, (n,), device=device).float()
    for size, warps in copy_kernel.SHAPES:
        numbers = torch.full((-(-4 * n // size),), torch.nan, device=device)
        shape = {"BLOCK": size // 4, "num_warps": warps}
        copy_kernel.read_kernel[(len(numbers),)](numbers, x, n, **shape)
        assert numbers.sum() == x.sum()
