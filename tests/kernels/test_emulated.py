"""CUDA C++ kernels without a GPU: the variants' own launches, run thread by thread on the CPU."""

import functools
import itertools

import pytest
import torch

import kernels
from measure.check import correctness
from tests.kernels.emulator.run import SMALL
from tests.kernels.special import special_rows
from tests.kernels.variants import config_takes
from tests.marks import slow

OPS = ("softmax", "log_softmax")
# N at which each kernel takes another config, and what `make test-all` adds.
SIZES = {
    # units of one element; of a vector
    "frontier_short": ([33, 64], [4, 8, 96, 256]),
    # a few lanes; a warp
    "frontier_packed": ([33, 781], [1, 2, 100, 250]),
    # a block; a cluster
    "frontier_staged": ([5001, 33001], [2101, 3001, 8321]),
    # a warp; a block; a cluster, of unaligned rows
    "frontier_rows": ([100, 5001, 16384 + 5], [3, 781, 1024, 2500, 8320]),
    # a row in registers; one that is also in shared memory, and in part read twice
    "frontier_spread": ([40001, 300001], [17000, 65000, 140000]),
}
CASES = [(name, cols) for name, (paths, _) in SIZES.items() for cols in paths]
CASES += [slow(name, cols) for name, (_, more) in SIZES.items() for cols in more]
CONFIGS = [(name, config) for name in SIZES for config in kernels.configs(name)]
SECOND_EXPS = ("frontier_rows", "k8w8r")  # the only config with other code
# rows of several warps, of several blocks, of several tiles for each block
SHARED = [
    ("frontier_rows", 5001),
    ("frontier_staged", 5001),
    ("frontier_spread", 40001),
    slow("frontier_spread", 300001),
]


def lengths(name: str) -> list[int]:
    return sorted(itertools.chain(*SIZES[name]))


@pytest.fixture
def check(emulated):
    """check(name, x, …): the result, which is right, and x is as it was."""

    def check(name, x, out=None, log=False, **config):
        out = torch.empty_like(x) if out is None else out
        before = x.clone()
        plan = functools.partial(kernels.load(name).module.plan, **config)
        emulated.softmax(plan, x, out, log)
        assert torch.equal(x.nan_to_num(), before.nan_to_num()), "the input was changed"
        problem = correctness.check_rows(out, (x,), OPS[log]).problem
        assert problem is None, problem
        return out

    return check


@pytest.mark.parametrize(("name", "cols"), CASES)
def test_rows_of_every_length(name, cols, check):
    torch.manual_seed(cols)
    check(name, torch.randn(3, cols) * 3)
    if cols < 10000:
        check(name, (torch.randn(2, cols) * 3).to(torch.bfloat16), log=True)


@pytest.mark.slow  # of 16 bits both run the same lines; log_softmax differs in its last line
@pytest.mark.parametrize("name", [name for name in SIZES if SIZES[name][0]])
def test_other_types_and_operations(name, check):
    for cols in (c for c in lengths(name) if c < 10000):
        for dtype, log in ((torch.bfloat16, False), (torch.float16, True)):
            check(name, torch.randn(2, cols).to(dtype), log=log)


@pytest.mark.parametrize(("name", "config"), [f if f == SECOND_EXPS else slow(*f) for f in CONFIGS])
def test_every_config(name, config, check):
    torch.manual_seed(0)
    both = itertools.product((torch.bfloat16, torch.float32), lengths(name))
    taken = [(dtype, n) for dtype, n in both if config_takes(f"{name}__{config}", n, dtype, SMALL)]
    assert taken
    for dtype, cols in taken[-2:]:
        check(name, torch.randn(3, cols).to(dtype), config=config)


@pytest.mark.parametrize(("name", "cols"), CASES)
def test_infinities_and_nan_as_torch_has_them(name, cols, emulated):
    x = special_rows(8, cols)
    out = torch.empty_like(x)
    emulated.softmax(kernels.load(name).module.plan, x, out)
    torch.testing.assert_close(out, torch.softmax(x, dim=-1), equal_nan=True, rtol=1e-4, atol=1e-7)


# 16-bit rows have more alignments
@pytest.mark.parametrize("dtype", [slow(torch.float32), torch.bfloat16], ids=str)
@pytest.mark.parametrize(("name", "cols"), SHARED)
def test_rows_and_their_results_may_begin_anywhere(name, cols, dtype, check):
    """Each at another place of 16 bytes; what lies between the rows of the result stays."""
    store = torch.randn(5 * (cols + 2) + 1).to(dtype)
    result = torch.full((5 * (cols + 3) + 2,), 7.0, dtype=dtype)
    x = store[1:].as_strided((5, cols), (cols + 2, 1), 1)
    out = result.as_strided((5, cols), (cols + 3, 1), 2)
    check(name, x, out)
    between = result[2:].as_strided((4, 3), (cols + 3, 1), 2 + cols)
    assert (result[:2] == 7).all()
    assert (between == 7).all()


# rows of an odd length begin anywhere
@pytest.mark.parametrize("less", [0, slow(1)], ids=["odd", "whole"])
@pytest.mark.parametrize("dtype", [slow(torch.float32), torch.bfloat16], ids=str)
@pytest.mark.parametrize(("name", "cols"), SHARED)
def test_a_row_gives_the_same_bits_in_any_batch(name, cols, dtype, less, check):
    x = torch.randn(5, cols - less).to(dtype)
    together = check(name, x)
    for row in range(5):
        assert torch.equal(check(name, x[row : row + 1])[0], together[row])
        moved = torch.cat([torch.zeros(row).to(x.dtype), x[row]])[row:]
        assert torch.equal(check(name, moved[None])[0], together[row]), "at another address"


@pytest.mark.parametrize(("name", "cols"), [("frontier_short", 64), ("frontier_packed", 33)])
def test_short_rows_give_the_same_bits_wherever_they_lie(name, cols, check):
    """One behind the other or with gaps, wherever in a vector the first begins; in 16 bits, too."""
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
