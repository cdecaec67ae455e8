"""The roofline moves what the operation moves: it reads one matrix or two, and writes one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from measure import copy_kernel
from measure.fingerprint import ROOT

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


# fewer elements than are packed, as many, one more; whole blocks; an odd matrix
@pytest.mark.parametrize("n", [1, 15, 16, 17, 32_768, 33 * 4099])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_shape_writes_all_of_a_copy_and_of_a_sum_and_nothing_else(dtype, n, device):
    g, y = (torch.randint(-8, 8, (n,), device=device).to(dtype) for _ in range(2))
    for read, expected in (((g,), g), ((g, y), g + y)):
        calls = copy_kernel.candidates(dtype.itemsize, len(read))
        assert len(calls) == len(copy_kernel.SHAPES)
        for call in calls:
            held = torch.full((16 + n + 64,), 9.0, dtype=dtype, device=device)
            out = held[16 : 16 + n]
            call(*read, out.fill_(torch.nan))
            assert torch.equal(out, expected)
            assert (held[:16] == 9).all()
            assert (held[16 + n :] == 9).all()


def test_all_but_the_last_of_an_odd_number_of_elements_move_in_words_of_16_bytes():
    """Read in the machine code for compute capability 9.0: words, and once what is left over."""
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("accesses.py"), "90", str(42_963 * 781)],
        capture_output=True,
        text=True,
        env=environment | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == 2 * 2 * len(copy_kernel.SHAPES)
    for entry in found:
        size, warps = copy_kernel.SHAPES[entry["shape"]]
        words = size // (warps * 32 * 16)  # per thread
        element = {4: "E", 2: "E.U16"}[entry["itemsize"]]
        assert entry["accesses"] == {
            "LDG.E.128": words * entry["reads"],
            "STG.E.128": words,
            f"LDG.{element}": entry["reads"],
            f"STG.{element}": 1,
        }, entry
