"""The roofline moves what the operation moves: it reads one matrix or two, and writes one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from measure.clock import copy_kernel
from measure.fingerprint import ROOT
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
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    script = Path(__file__).with_name("accesses.py")
    done = subprocess.run(
        [sys.executable, script, "90", str(42_963 * 781), dtype, str(reads)],
        capture_output=True,
        text=True,
        env=environment | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    element = {"float32": "E", "bfloat16": "E.U16"}[dtype]
    for accesses, (size, warps) in zip(found, copy_kernel.SHAPES, strict=True):
        words = size // (warps * 32 * 16)  # per thread
        assert accesses == {
            "LDG.E.128": words * reads,
            "STG.E.128": words,
            f"LDG.{element}": reads,
            f"STG.{element}": 1,
        }
