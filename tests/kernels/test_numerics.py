"""Every variant of ours, in every operation, against float64: sizes, dtypes, strides, NaN."""

import pytest
import torch
from triton.runtime.errors import OutOfResources

import kernels
import operations
from measure import inputs
from tests.kernels.helpers import launches, variants
from tests.kernels.helpers.dropin import special_rows
from tests.kernels.helpers.variants import CONTRIBUTED, CUDA, OURS, assert_rows_right, loaded, run
from tests.marks import slow

# How far 1 may be off where only one element counts: FasterTransformer adds 1e-6 to every sum.
OFF_ONE = {name: 1.2e-6 for name in CUDA if "fastertransformer" in name}
HAS_NONE = slice(0, 3)  # rows of ``special_rows`` without a softmax
ONE_FINITE = ((3, -1), (7, 0))  # its rows with one finite value each, and where


def of_name(name: str, *more):
    """Return a variant as a parameter; CUDA C++ runs on a GPU only."""
    marks = pytest.mark.gpu if "cuda" in kernels.packages(name) else ()
    return pytest.param(name, *more, marks=marks)


PAIRS = [
    (name, op)
    for name in sorted({*OURS, *CONTRIBUTED, *kernels.names("softmax_backward")})
    for op in operations.names()
    if op in kernels.ops(name)
]
# Operations that write a matrix, into which a row can be placed anywhere.
WRITING = [(name, op) for name, op in PAIRS if operations.load(op).outputs[0].is_matrix]
every, every_writing = (
    pytest.mark.parametrize(("name", "op"), [of_name(*pair) for pair in pairs])
    for pairs in (PAIRS, WRITING)
)
# Lengths by code path; `make test-all` adds neighbours of powers of two and primes.
COLUMNS = [
    1,  # one element
    33,  # a block with a part that is masked; a warp and one more
    128,  # a block that is full; packs of 4 in CUDA C++
    1025,  # more than a warp's registers hold
    4099,  # more than a tile of triton_online, which ends within its second tile
]
LONG = [16384, 20000]  # triton_backward's longest block; its tiles, and clusters
MORE = [2, 3, 17, 31, 32, 127, 129, 781, 1000, 1023, 1024, 2500, 4096, 16385]


def refused(name, x) -> bool:
    """Whether the variant does not take x, and says why: the project's own say the length."""
    reason = loaded(name).unsupported(x)
    words = "" if name in CONTRIBUTED else f"N = {x.shape[1]}"
    assert reason is None or (reason and words in reason)
    return reason is not None


def output_of(name, op, read) -> torch.Tensor | None:
    """Return the output; None where Triton finds the stages of a row too large for the GPU."""
    try:
        return kernels.load(name).function(op)(*read)
    except OutOfResources:  # the status of its row is `unsupported`
        assert name in ("triton_persistent", *CONTRIBUTED)
        return None


@pytest.mark.parametrize(
    ("dtype", "columns"),
    [
        (torch.float32, COLUMNS),
        # the conversion to 16 bits is one line of each kernel; CUDA C++ has packs of it
        (torch.bfloat16, COLUMNS[1:4]),
        slow(torch.bfloat16, MORE),
        slow(torch.float16, COLUMNS),
        slow(torch.float32, MORE),
    ],
    ids=str,
)
@every
def test_any_number_of_columns(name, op, dtype, columns, device):
    taken = 0
    # torch rounds x - max to 16 bits in between; Triton's interpreter truncates to bfloat16
    on_cpu = device.type == "cpu" and dtype != torch.float32
    inexact = on_cpu and (name, op) == ("torch_softmax", "log_softmax")
    truncates = on_cpu and "triton" in kernels.packages(name) and dtype == torch.bfloat16
    for cols in columns + LONG * ("backward" in op):
        for rows in (3, 4):  # cuda_oneflow_warp takes two rows at once if M is even
            read = inputs.draw_for(op, "normal", dtype, rows, cols, cols, device)
            if refused(name, read[0]) or (y := output_of(name, op, read)) is None:
                continue
            assert inexact or variants.rows_problem(y, read, op, truncates) is None, cols
            taken += 1
    assert taken >= 4 or name in CONTRIBUTED


@pytest.mark.parametrize("name", map(of_name, OURS))
def test_more_rows_than_programs(name, device):
    """Every row is right, the last ones too. Triton's interpreter has four persistent programs."""
    rows, cols = (700_001, 36) if device.type == "cuda" else (13, 29)
    torch.manual_seed(3)
    x = torch.randn(rows, cols, device=device)
    if name in CONTRIBUTED and refused(name, x):
        pytest.skip(f"{name} does not take rows of {cols}")
    assert_rows_right(run(name, x, torch.full_like(x, torch.nan)), x)


# Columns, and those before the rows of each matrix, the output last: packs of 1, 2 and 4; an input
# aligned better than the output.
MISALIGNED = [(257, (7, 7, 3)), (258, (6, 6, 2)), (256, (8, 4, 4))]
MISALIGNED += [(256, (8, 8, 1)), (254, (2, 2, 8))]


@every_writing
def test_non_contiguous_rows(name, op, device):
    """Row stride above N, in the input and in the output; nothing between the rows is touched."""
    packed = "cuda" in kernels.packages(name)  # other kernels move each element by itself
    tiles = [(17_000, (2, 8, 1)), (17_000, (4, 8, 4))] * ("backward" in op)
    for cols, starts in (MISALIGNED if packed else MISALIGNED[-1:]) + tiles:
        layout = tuple((start, 44) for start in starts[: len(operations.load(op).inputs) + 1])
        x = launches.moved(launches.placed(torch.zeros(6, cols), *layout[0]), device)
        launch = launches.Launch(name, op, torch.float32, 6, cols, layout)
        if not refused(name, x):
            assert launches.problem_of(launch, device) is None, (cols, starts)


# 700: one block of any kernel; 17000: a tile of which nothing is finite, then others, in all that
# have tiles. 5: fewer columns than a warp has lanes.
@pytest.mark.parametrize("cols", [slow(5), 700, 17_000])
@every_writing
def test_infinities_and_nan_as_torch_has_them(name, op, cols, device):
    if "backward" in op:
        read = tuple(variants.special_gradients(op, cols, device))
    else:
        read = (special_rows(8, cols, device=device),)
    if refused(name, read[0]) or (y := output_of(name, op, read)) is None:
        pytest.skip(f"{name} does not take rows of {cols}")
    assert variants.rows_problem(y, read, op) is None  # NaN is where it is in float64
    if "backward" in op:
        assert y[1:3].isnan().all()
        assert y[3:].isfinite().all()
        return
    assert y[HAS_NONE].isnan().all()
    lost, kept = (0, 1) if op == "softmax" else (-torch.inf, 0)
    for row, column in ONE_FINITE:
        assert (y[row] == lost).sum() == cols - 1
        assert y[row, column].item() == pytest.approx(kept, rel=OFF_ONE.get(name, 0), abs=0)


@pytest.mark.gpu
@pytest.mark.usefixtures("exclusive_gpu_memory")
@pytest.mark.parametrize(
    ("name", "op", "lengths"),
    [
        # the second length where a row has a thread for each column
        *((*pair, (4104, 1016)) for pair in WRITING),
        # the frontier's other kernels: packed, short, staged, spread
        *(("frontier", "softmax", (cols,)) for cols in (33, 64, 50257, 2**20)),
    ],
)
def test_offsets_beyond_two_to_the_31(name, op, lengths, device):
    """M·N > 2^31: the last rows are where a 32-bit offset would wrap."""
    one_row = (torch.empty(1, cols, dtype=torch.bfloat16, device=device) for cols in lengths)
    cols = next((x.shape[1] for x in one_row if not refused(name, x)), None)
    if cols is None and name in CONTRIBUTED:
        pytest.skip(f"{name} takes neither length")
    shape, ends = (2**31 // cols + 8, cols), (slice(0, 8), slice(-8, None))
    read = [
        torch.zeros(shape, dtype=torch.bfloat16, device=device) for _ in operations.load(op).inputs
    ]
    for seed, rows in enumerate(ends):
        drawn = inputs.draw_for(op, "normal", torch.bfloat16, 8, cols, seed, device)
        for tensor, values in zip(read, drawn, strict=True):
            tensor[rows] = values
    y = kernels.load(name).function(op)(*read, torch.full_like(read[0], torch.nan))
    assert y.numel() > 2**31
    for rows in ends:
        assert variants.rows_problem(y[rows], [tensor[rows] for tensor in read], op) is None
