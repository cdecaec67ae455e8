"""CUDA C++ kernels without a GPU: the variants' own launches, run thread by thread on the CPU."""

import functools
import itertools

import pytest
import torch

import kernels
from measure import gate
from tests.kernels.emulator import run as emulated
from tests.kernels.variants import form_takes

pytestmark = pytest.mark.skipif(emulated.COMPILER is None, reason="g++ is not here")

# N at which each kernel takes another form: one lane, a part of a warp, a warp, blocks, clusters,
# and rows that do not begin at a word.
SIZES = {
    "frontier_short": [4, 8, 33, 96, 256],
    "frontier_packed": [1, 2, 33, 100, 250, 781],
    "frontier_staged": [2101, 3001, 8321, 33001],
    "frontier_rows": [3, 100, 781, 1024, 2500, 8320, 16384 + 5],
    "frontier_ring": [100, 781, 12001, 33000],
    "frontier_grid": [9000, 40001, 300000],
    "frontier_spread": [17000, 40001, 65000],
}
CASES = [(name, cols) for name, sizes in SIZES.items() for cols in sizes]
FORMS = [(name, form) for name in SIZES for form in kernels.forms(name)]
# of several warps, blocks, and for the grid so long that blocks share a row
SHARED = {
    "frontier_rows": 5001,
    "frontier_staged": 5001,
    "frontier_ring": 12001,
    "frontier_grid": 40001,
    "frontier_spread": 40001,
}


def check(name, x, out=None, log=False, **form):
    """The result, which is right, and x is as it was."""
    out = torch.empty_like(x) if out is None else out
    before = x.clone()
    specialise = functools.partial(kernels.load(name).module.specialise, **form)
    emulated.softmax(specialise, x, out, log)
    assert torch.equal(x, before), "the input was changed"
    problem = gate.check_values(out, x, "log_softmax" if log else "softmax").problem
    assert problem is None, problem
    return out


@pytest.mark.parametrize(("name", "cols"), CASES)
def test_rows_of_every_length(name, cols):
    torch.manual_seed(cols)
    check(name, torch.randn(3, cols) * 3)
    if cols < 10000:
        check(name, (torch.randn(3, cols) * 3).to(torch.bfloat16))
        check(name, torch.randn(2, cols).to(torch.float16), log=True)


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_every_form(name, form):
    torch.manual_seed(0)
    both = itertools.product((torch.bfloat16, torch.float32), SIZES[name])
    taken = [
        (dtype, n) for dtype, n in both if form_takes(f"{name}__{form}", n, dtype, emulated.SMALL)
    ]
    assert taken
    for dtype, cols in taken[-2:]:
        check(name, torch.randn(3, cols).to(dtype), form=form)


@pytest.mark.parametrize(("name", "cols"), CASES)
def test_rows_that_are_not_tame(name, cols):
    x = torch.randn(6, cols) + 1000
    x[1, cols // 2 :] = -torch.inf
    x[2] = -torch.inf
    x[3, cols // 3] = torch.nan
    x[4, cols - 1] = torch.inf
    out = torch.empty_like(x)
    emulated.softmax(kernels.load(name).module.specialise, x, out)
    torch.testing.assert_close(out, torch.softmax(x, dim=-1), equal_nan=True, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", SHARED)
def test_rows_and_their_results_may_begin_anywhere(name, dtype):
    """Each at another place of 16 bytes; what lies between the rows of the result stays."""
    cols = SHARED[name]
    store = torch.randn(5 * (cols + 2) + 1).to(dtype)
    result = torch.full((5 * (cols + 3) + 2,), 7.0, dtype=dtype)
    x = store[1:].as_strided((5, cols), (cols + 2, 1), 1)
    out = result.as_strided((5, cols), (cols + 3, 1), 2)
    check(name, x, out)
    between = result[2:].as_strided((4, 3), (cols + 3, 1), 2 + cols)
    assert (result[:2] == 7).all()
    assert (between == 7).all()


@pytest.mark.parametrize("less", [0, 1], ids=["odd", "whole"])
@pytest.mark.parametrize("name", SHARED)
def test_a_row_gives_the_same_bits_in_any_batch(name, less):
    for dtype in (torch.float32, torch.bfloat16):
        gives_the_same_bits(name, torch.randn(5, SHARED[name] - less).to(dtype))


def gives_the_same_bits(name, x):
    together = check(name, x)
    for row in range(5):
        assert torch.equal(check(name, x[row : row + 1])[0], together[row])
        moved = torch.cat([torch.zeros(row).to(x.dtype), x[row]])[row:]
        assert torch.equal(check(name, moved[None])[0], together[row]), "at another address"


@pytest.mark.parametrize(("name", "cols"), [("frontier_short", 64), ("frontier_packed", 33)])
def test_short_rows_give_the_same_bits_wherever_they_lie(name, cols):
    """One behind the other or with gaps, wherever in a word the first begins; in 16 bits, too."""
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.randn(5, cols).to(dtype)
        together = check(name, x)
        for shift, gap in itertools.product(range(4), (0, 1)):
            store = torch.zeros(5 * (cols + gap) + shift, dtype=dtype)
            moved = store.as_strided((5, cols), (cols + gap, 1), shift)
            moved.copy_(x)
            out = torch.full((5 * (cols + 2) + 2,), 7.0, dtype=dtype)
            for apart in (0, 2):
                result = out.as_strided((5, cols), (cols + apart, 1), 2)
                assert torch.equal(check(name, moved, result), together)
                rest = out.clone()
                rest.as_strided((5, cols), (cols + apart, 1), 2).fill_(7.0)
                assert (rest == 7).all(), "more than the rows was written"
                out.fill_(7.0)
