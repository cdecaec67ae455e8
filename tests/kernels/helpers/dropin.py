"""What the drop-in's tests share: torch's own test inputs, and a judge of values."""

import itertools
from functools import cache

import pytest
import torch

from measure.check import tolerance
from tests.marks import slow

OPS = ("softmax", "log_softmax")
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
# The operation is a line at a kernel's end, and the type a conversion: each of them once.
KINDS = [("softmax", torch.float32), ("log_softmax", torch.bfloat16)]
OTHERS = [kind for kind in itertools.product(OPS, DTYPES) if kind not in KINDS]
kinds = pytest.mark.parametrize(
    ("op", "dtype"), [*KINDS, *(slow(*kind) for kind in OTHERS)], ids=str
)
# for what lies outside the kernels, where an operation is but a name
one_op = pytest.mark.parametrize("op", [OPS[0], slow(OPS[1])])


@cache
def _opinfos(op: str) -> tuple:
    pytest.importorskip("expecttest", reason="torch's test inputs need the package expecttest")
    from torch.testing._internal.common_methods_invocations import op_db

    return tuple(info for info in op_db if info.name == op)


def samples(op: str, device: torch.device, dtype: torch.dtype):
    """(tensor, arguments, keywords) of torch's OpInfo samples, with and without ``dtype=``.

    torch asks for float64 results only; what is asked for float64 here is asked for float32 too.
    """
    for info in _opinfos(op):
        for sample in info.sample_inputs(device, dtype):
            yield sample.input, sample.args, sample.kwargs
            if sample.kwargs:
                yield sample.input, sample.args, {"dtype": torch.float32}


def assert_right(y: torch.Tensor, x: torch.Tensor, dim: int, op: str) -> None:
    """y is the softmax of x over ``dim`` in float64, to the rounding of y's dtype; NaN included."""
    assert y.shape == x.shape
    assert y.is_contiguous()
    rows, of = (t.movedim(dim, -1).reshape(-1, t.shape[dim]) for t in (y, x.to(y.dtype)))
    truncates = y.dtype == torch.bfloat16 and y.device.type == "cpu"  # Triton's interpreter
    problem = tolerance.check_rows(rows, (of,), op, truncates).problem
    assert problem is None, problem
