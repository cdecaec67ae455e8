"""What the drop-in's tests share: torch's own test inputs, and a judge of values."""

import itertools

import pytest
import torch

from kernels.tensors import DTYPES
from measure.check import tolerance
from tests.marks import slow

OPS = ("softmax", "log_softmax")
# The operation is a line at a kernel's end, and the type a conversion: each of them once.
KINDS = [("softmax", torch.float32), ("log_softmax", torch.bfloat16)]
OTHERS = [kind for kind in itertools.product(OPS, DTYPES) if kind not in KINDS]
kinds = pytest.mark.parametrize(
    ("op", "dtype"), [*KINDS, *(slow(*kind) for kind in OTHERS)], ids=str
)
# Tolerance relative to the largest term: a few round-offs of the dtype, twice as many where
# Triton's interpreter truncates.
TOLERANCE = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}
# Tests outside of the kernels take these, for which an operation is but a name.
one_op = pytest.mark.parametrize("op", [OPS[0], slow(OPS[1])])


def special_rows(count: int, cols: int, *inner: int, device=None) -> torch.Tensor:
    """Return float32 (count, cols, …), at most 8 rows, each with another special value."""
    x = torch.randn(8, cols, *inner, device=device)
    x[0] = -torch.inf
    x[1, cols // 2] = torch.inf
    x[2, cols - 1] = torch.nan
    x[3, : cols - 1] = -torch.inf
    x[4, ::2] = -torch.inf
    x[5, cols // 2 :] = -torch.inf
    x[6] = torch.linspace(-3e38, 3e38, cols).view(-1, *(1 for _ in inner))
    x[7, 1:] = -torch.inf
    return x[:count].contiguous()


def samples(op: str, device: torch.device, dtype: torch.dtype):
    """Yield (tensor, arguments, keywords) of torch's OpInfo samples, with and without ``dtype=``.

    torch asks for float64 results only; what is asked for float64 here is asked for float32 too.
    """
    pytest.importorskip("expecttest", reason="torch's test inputs need the package expecttest")
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        for sample in info.sample_inputs(device, dtype) if info.name == op else ():
            yield sample.input, sample.args, sample.kwargs
            if sample.kwargs:
                yield sample.input, sample.args, {"dtype": torch.float32}


def assert_right(y: torch.Tensor, x: torch.Tensor, dim: int, op: str) -> None:
    """Assert that y is the softmax of x over ``dim`` in float64, as y's dtype rounds it."""
    assert y.shape == x.shape
    assert y.is_contiguous()
    rows, x_rows = (t.movedim(dim, -1).reshape(-1, t.shape[dim]) for t in (y, x.to(y.dtype)))
    truncates = y.dtype == torch.bfloat16 and y.device.type == "cpu"  # Triton's interpreter
    problem = tolerance.check_rows(rows, (x_rows,), op, truncates).problem
    assert problem is None, problem


def assert_gradient(dx, g, y, dim: int, op: str) -> None:
    """Assert that dx is what the formula gives in float64 for y as it was rounded."""
    g, y = g.double(), y.detach().double()
    if op == "softmax":
        terms = y * g, y * (g * y).sum(dim, keepdim=True)
    else:
        terms = g, y.exp() * g.sum(dim, keepdim=True)
    largest = max(term.abs().max().item() for term in terms)
    atol = TOLERANCE[dx.dtype] * largest
    torch.testing.assert_close(dx.double(), terms[0] - terms[1], rtol=0, atol=atol)
