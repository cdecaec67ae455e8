"""``cuda_backward`` without a GPU: its own launches, run thread by thread on the CPU."""

import pytest
import torch

from kernels.cuda.nvrtc import GPUS, Call
from kernels.frontier.backward import cuda_backward
from measure import inputs
from measure.check import correctness
from tests.kernels.special import special_gradients
from tests.marks import slow

OPS = ["softmax_backward", "log_softmax_backward"]
# a block; a cluster; 16 bits. `make test-all` adds a warp's part, clusters of 4 and 8 blocks, then
# of more words a lane, and of 16 blocks. The operations differ in one line.
CASES = [
    ("softmax_backward", torch.float32, 1000),
    ("softmax_backward", torch.float32, 20000),
    ("log_softmax_backward", torch.bfloat16, 8200),
    slow("log_softmax_backward", torch.float32, 1000),
    slow("log_softmax_backward", torch.float32, 20000),
    slow("softmax_backward", torch.bfloat16, 8200),
]
MORE = {
    torch.float32: [8, 9000, 40000, 70000, 140000],
    torch.bfloat16: [64, 20000],
}
CASES += [slow(op, dtype, cols) for op in OPS for dtype in MORE for cols in MORE[dtype]]
both = pytest.mark.parametrize("op", [OPS[0], slow(OPS[1])])


def drawn(op, dtype, rows, cols) -> torch.Tensor:
    """g and y, (2, rows, cols)."""
    return torch.stack(inputs.draw_for(op, "normal", dtype, rows, cols, 1, torch.device("cpu")))


@pytest.fixture
def run(emulated):
    """run(op, read): dx; what is read stays as it was."""

    def run(op, read) -> torch.Tensor:
        dx, before = torch.full_like(read[0], 9), read.clone()
        emulated.backward(cuda_backward.plan, read, dx, op.startswith("log"))
        assert torch.equal(read.nan_to_num(), before.nan_to_num()), "what was read was changed"
        return dx

    return run


@pytest.mark.parametrize(("op", "dtype", "cols"), CASES)
def test_rows_of_every_length(op, dtype, cols, run):
    read = drawn(op, dtype, 2, cols)
    assert correctness.check_rows(run(op, read), tuple(read), op).problem is None


@both
@pytest.mark.parametrize("cols", [1000, 20000])
def test_infinities_and_nan_as_torch_has_them(op, cols, run):
    read = special_gradients(op, cols, torch.device("cpu"))
    assert correctness.check_rows(run(op, read), tuple(read), op).problem is None


@both
@pytest.mark.parametrize("cols", [1000, 20000])
def test_a_row_has_the_same_bits_in_any_batch(op, cols, run):
    read = drawn(op, torch.float32, 7, cols)
    assert torch.equal(run(op, read)[4:5], run(op, read[:, 4:5].contiguous()))


@pytest.mark.parametrize("arch", sorted(GPUS))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_what_is_said_to_be_the_longest_row_is(arch, dtype, monkeypatch):
    monkeypatch.setattr(cuda_backward.cuda, "gpu_info", lambda device: GPUS[arch])
    cuda_backward._max_bytes.cache_clear()
    most = cuda_backward._max_bytes(0) // dtype.itemsize
    cuda_backward._max_bytes.cache_clear()
    for cols, taken in ((most, True), (most + 8, False)):
        call = Call(dtype, 3, cols, 16 // dtype.itemsize, False, GPUS[arch])
        assert bool(cuda_backward.plan(call)) == taken
