"""The project's CUDA C++ kernels without a GPU: their launches, thread by thread on the CPU.

The emulator runs threads in turn and PTX as plain C++, so it checks values and addresses, not the
order of memory accesses: test_sanitizer.py and test_stress.py do, on a GPU.
"""

import functools
import itertools
import operator

import pytest
import torch

import kernels
from kernels.cuda.plan import Problem
from kernels.frontier import frontier, frontier_packed, frontier_spread
from kernels.frontier.backward import cuda_backward
from measure import inputs
from measure.check import correctness
from measure.clock import read_meet_write, roofline
from tests.kernels.emulator.run import SMALL
from tests.kernels.helpers.dropin import special_rows
from tests.kernels.helpers.launches import BACKWARD, CHOSEN, ONE_WAY, code_paths, placed, problem_of
from tests.kernels.helpers.variants import largest_error, rows_problem, special_gradients
from tests.marks import slow

# A row of a warp's part, a warp, a block, a cluster, the whole GPU, several tiles for each block.
ROWS = [("frontier_short", 64), ("frontier_packed", 33), ("frontier_packed", 601)]
ROWS += [("frontier_rows", 100)]
ROWS += [("frontier_rows", 5001), ("frontier_staged", 5001), ("frontier_spread", 40_001)]
ROWS += [slow("frontier_rows", 33_001), slow("frontier_staged", 33_001)]
ROWS += [slow("frontier_spread", 300_001)]


def emulated_launches() -> list:
    """Return those of our kernels, on a GPU so small that a row is soon all of it."""

    def is_fast(e) -> bool:
        once = e.out_dtype is None or "log" not in e.op
        return e.variant in CHOSEN and e.cols < 70_000 and (e.op, e.layout) in ONE_WAY and once

    ours = [e for e in code_paths(SMALL) if e.variant.startswith(("frontier_", "cuda_backward"))]
    return [e if is_fast(e) else slow(e) for e in ours if e.cols <= 300_001]


@pytest.mark.parametrize("launch", emulated_launches(), ids=str)
def test_every_code_path_is_right(launch, emulated):
    def run(*views_at):
        *read, out = views_at
        plan = kernels.load(launch.variant).module.plan
        return emulated.run(plan, read, out, "log" in launch.op)

    assert problem_of(launch, "cpu", run) is None


@pytest.mark.parametrize(("name", "cols"), ROWS)
def test_infinities_and_nan_as_torch_has_them(name, cols, emulated):
    x = special_rows(8, cols)
    out = emulated.run(kernels.load(name).module.plan, (x,))
    torch.testing.assert_close(out, torch.softmax(x, dim=-1), equal_nan=True, rtol=1e-4, atol=1e-7)


# rows of an odd length begin anywhere
@pytest.mark.parametrize("less", [0, slow(1)], ids=["odd", "even"])
@pytest.mark.parametrize("dtype", [slow(torch.float32), torch.bfloat16], ids=str)
@pytest.mark.parametrize(("name", "cols"), ROWS)
def test_a_row_gives_the_same_bits_in_any_batch_and_anywhere(name, cols, dtype, less, emulated):
    x = torch.randn(5, cols - less).to(dtype)

    def run(x, out=None):
        return emulated.run(kernels.load(name).module.plan, (x,), out)

    together = run(x)
    assert rows_problem(together, (x,), "softmax") is None
    for row in range(5):
        assert torch.equal(run(x[row : row + 1])[0], together[row])
        moved = torch.cat([torch.zeros(row).to(x.dtype), x[row]])[row:]
        assert torch.equal(run(moved[None])[0], together[row]), "at another address"
    if cols < 200:  # rows that pass together, or one by one
        for gap, out_gap in itertools.product((0, 1), (0, 2)):
            wide, out = (torch.zeros(5, x.shape[1] + more).to(dtype) for more in (gap, out_gap))
            wide[:, : x.shape[1]] = x
            views = (tensor[:, : x.shape[1]] for tensor in (wide, out))
            assert torch.equal(run(*views), together)


# (elements before the first row, from row to row beyond N) of x, and of the output
PLACES = [((0, 0), (0, 0)), ((1, 2), (0, 0)), ((4, 4), (3, 1)), ((3, 5), (2, 2))]


# also rows whose 16-bit elements end inside a vector, and their outputs do not
@pytest.mark.parametrize("less", [slow(0), 1, slow(3)], ids=["odd", "even", "more even"])
@pytest.mark.parametrize("dtype", [slow(torch.float16), torch.bfloat16], ids=str)
@pytest.mark.parametrize(("name", "cols"), ROWS)
def test_float32_out_of_16_bits_has_the_bits_of_a_cast_before(name, cols, dtype, less, emulated):
    """At any address of either, so at every address alike."""
    plan = kernels.load(name).module.plan
    x = torch.randn(3, cols - less).to(dtype)
    expected = emulated.run(plan, (x.float(),))
    for x_place, out_place in PLACES:
        out = placed(torch.zeros(x.shape), *out_place)
        assert torch.equal(emulated.run(plan, (placed(x, *x_place),), out), expected)


@pytest.mark.parametrize("op", [BACKWARD[0], slow(BACKWARD[1])])
@pytest.mark.parametrize("cols", [slow(5), 501, 1000, slow(5002), slow(20_000)])
def test_a_gradient_in_16_bits_is_that_of_float32_rounded_once(cols, op, emulated):
    read = inputs.draw_for(op, "normal", torch.float32, 3, cols, 1, torch.device("cpu"))
    expected = emulated.run(cuda_backward.plan, read, log="log" in op).bfloat16()
    for place, dx_place in PLACES:
        dx = placed(torch.zeros(expected.shape, dtype=expected.dtype), *dx_place)
        views_at = [placed(tensor, *place) for tensor in read]
        assert torch.equal(emulated.run(cuda_backward.plan, views_at, dx, "log" in op), expected)


# Rows of 1, 1, 8, 16, 32 and 64 lanes
@pytest.mark.parametrize("cols", [3, 13, 101, 201, 500, 701])
def test_a_small_matrix_has_the_bits_of_a_large_one(cols, emulated):
    """More lanes share a row, and its elements do not pass through shared memory."""
    x, results = torch.randn(9, cols), []
    for config, direct in (("k20", 1), ("k20s", 0)):
        plan = functools.partial(frontier_packed.plan, config=config)
        assert plan(Problem(x.dtype, *x.shape, 1, False, SMALL))[0].extra_args == (direct,)
        for start, out_start in ((0, 0), (1, 3)):  # rows that touch: elements inside a vector
            out = placed(torch.zeros_like(x), out_start, 0)
            results.append(emulated.run(plan, (placed(x, start, 0),), out))
    assert rows_problem(results[0], (x,), "softmax") is None
    assert all(torch.equal(tensor, results[0]) for tensor in results)


# An odd number of tiles: a block is left with one. An even one, and fewer warps.
@pytest.mark.parametrize("cols", [20_100, slow(40_001)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, slow(torch.float32)], ids=str)
@pytest.mark.parametrize("log", [0, slow(1)])
def test_a_block_of_two_tiles_has_the_bits_of_two_blocks(log, dtype, cols, emulated):
    x = torch.randn(3, cols).to(dtype)
    plans = (functools.partial(frontier_spread.plan, config="k4w8", parts=n) for n in (1, 2))
    one_tile, two_tiles = (emulated.run(plan, (x,), log=bool(log)) for plan in plans)
    assert torch.equal(one_tile, two_tiles)
    assert rows_problem(two_tiles, (x,), "log_softmax" if log else "softmax") is None


@pytest.mark.parametrize("log", [0, slow(1)])
@pytest.mark.parametrize("dtype", [torch.float32, slow(torch.bfloat16)], ids=str)
@pytest.mark.parametrize("cols", [501, 1000, slow(5001), 20_000])  # a warp; blocks; a cluster
def test_the_backward_in_any_batch_anywhere_and_of_special_values(log, cols, dtype, emulated):
    op, cpu = BACKWARD[log], torch.device("cpu")

    def run(read):
        out = emulated.run(cuda_backward.plan, read, log=log)
        assert rows_problem(out, read, op) is None
        return out

    run(special_gradients(op, cols, cpu).to(dtype))
    drawn = inputs.draw_for(op, "normal", dtype, 3, cols, 1, cpu)
    together = run(drawn)
    assert torch.equal(run([tensor[2:] for tensor in drawn])[0], together[2])
    apart = [placed(tensor, start, 2) for start, tensor in enumerate(drawn, 1)]
    assert torch.equal(run(apart), together), "at other addresses"


# frontier_short, packed, rows, staged
@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@pytest.mark.parametrize(("cols", "rows"), [(256, 128), (33, 500), (1024, 48), slow(8191, 6)])
def test_the_largest_error_in_float32_is_at_most_that_of_torch(cols, rows, op, emulated):
    """torch rounds x - max, and loses what is left of a sum near 1."""
    torch.manual_seed(cols)
    x = 4 * torch.randn(rows, cols)
    y = emulated.run(frontier.plan, (x,), log=op == "log_softmax")
    assert largest_error(y, x, op) <= largest_error(getattr(torch, op)(x, -1), x, op)


@pytest.mark.parametrize("cols", [64, 600, slow(5001), slow(50_257)])
def test_shares_below_the_normal_numbers_are_kept(cols, emulated):
    x = torch.full((2, cols), -90.0)
    x[:, 1], x[0, cols - 1], x[1, cols - 1] = 0.0, -100.0, -200.0
    y = emulated.run(frontier.plan, (x,))
    assert 0 < y[0, cols - 1] < y[0, 0] < 2**-126
    assert y[1, cols - 1] == 0
    torch.testing.assert_close(y, torch.softmax(x, -1), rtol=1e-6, atol=2**-149)


@pytest.mark.parametrize("cols", [64, 600, slow(5001)])
def test_the_share_of_the_only_finite_element_is_1(cols, emulated):
    """With many values, for the product with a rounded reciprocal is below 1 for some."""
    x = torch.full((200, cols), -torch.inf)
    x[:, 32] = 3 * torch.randn(200, generator=torch.Generator().manual_seed(1))
    y = emulated.run(frontier.plan, (x,))
    assert (y[:, 32] == 1).all()
    assert (y[:, :32] == 0).all()


# Beyond 2^21 a maximum is subtracted before the power of two.
@pytest.mark.parametrize("shift", [-1e4, 2.0**21 - 1, -3e6, 1e30], ids=str)
@pytest.mark.parametrize("cols", [64, 600, slow(5001)])
def test_rows_far_from_zero(cols, shift, emulated):
    torch.manual_seed(cols)
    x = 4 * torch.randn(3, cols) + shift
    for op in ("softmax", "log_softmax"):
        y = emulated.run(frontier.plan, (x,), log=op == "log_softmax")
        torch.testing.assert_close(y, getattr(torch, op)(x.double(), -1).float(), rtol=2e-6, atol=0)


# Rounds of an aligned row of several blocks; rows that begin anywhere, side by side.
@pytest.mark.parametrize(
    ("form", "rows", "cols", "dtype"),
    [("k4w8r4h1", 3, 40_000, torch.float32), ("k1w8r4h0", 5, 5001, torch.bfloat16)],
)
def test_read_meet_write_copies_and_leaves_its_counters_ready(form, rows, cols, dtype, emulated):
    x = torch.randn(rows, cols).to(dtype)
    for _ in range(2):
        planner = read_meet_write.PLANNERS["read_meet_write", form]
        assert torch.equal(emulated.run(planner, (x,)), x)
        written = emulated.run(read_meet_write.PLANNERS["read_meet", form], (x,))
        words = 4 // dtype.itemsize  # elements
        assert written[:, words:].isnan().all()
        assert not written[:, :words].isnan().all(dim=1).any()


# Less than a vector; less than a turn of all blocks; several turns, and a part of one.
@pytest.mark.parametrize("shape", [(1, 3), (3, 1001), (37, 8009)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("kind", ["copy", "add"])
def test_a_roofline_writes_the_copy_or_the_sum_and_nothing_else(kind, dtype, shape, emulated):
    g, y = (torch.randn(shape).to(dtype) for _ in range(2))
    read, expected = ((g,), g) if kind == "copy" else ((g, y), g + y)
    for form in roofline.FORMS[kind]:
        assert torch.equal(emulated.run(roofline.planner(form, kind), read), expected), form


def exclusive_or(values: torch.Tensor) -> int:
    return functools.reduce(operator.xor, values.flatten().tolist(), 0)


@pytest.mark.parametrize("shape", [(1, 3), (3, 1001), (37, 8009)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_reading_reads_all_once_and_writes_a_word_per_block(dtype, shape, emulated):
    x = torch.randn(shape).to(dtype)
    per_vec = 16 // dtype.itemsize
    vecs = x.flatten()[: x.numel() // per_vec * per_vec].view(torch.int32)
    tail = x.flatten()[x.numel() // per_vec * per_vec :].view(correctness.BITS[dtype.itemsize])
    for form in roofline.FORMS["read"]:
        planner = roofline.planner(form, "read")
        blocks = planner(Problem(dtype, *shape, 1, False, SMALL))[0].blocks
        written = emulated.run(planner, (x,)).flatten().view(torch.uint8)
        words = written[: 4 * blocks].view(torch.int32)
        # a bulk copy shows the first word of each of its parts
        read = vecs[:: form.block_bytes // 4] if form.shared_bytes else vecs
        bits = 2 ** (8 * dtype.itemsize)
        expected = exclusive_or(read) ^ exclusive_or(tail.long() % bits)
        assert (exclusive_or(words) - expected) % 2**32 == 0, form
        assert x.flatten()[4 * blocks // dtype.itemsize :].isfinite().all()
