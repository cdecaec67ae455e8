"""Check that every call in a timed graph does its work.

A graph goes round its buffers many times. So a call that finds the right rows in ``out`` could do
nothing while the graph is recorded, and the outputs would not show it. Therefore one more graph is
recorded, at a random place among the timed ones and by the same lines of code. In it a comparison
with torch follows every call and overwrites the output.
"""

import torch
import triton
import triton.language as tl

from ..clock import controls
from .edge_cases import UNTOUCHED
from .tolerance import ATOL_ROUNDOFFS, SMALLEST, UNIT_ROUNDOFF

BLOCK = 4096
SMALLEST_NORMAL = 2.0**-126  # of float32: kernels may flush what is below it to 0
NEAR_0 = 1e-4  # of the largest gradient
COARSE = 0.05  # correctness.py checks exactly; here stale, missing and made-up values count


@triton.jit
def audit_kernel(
    wrong_ptr, out_ptr, expected_ptr, largest_ptr, n, relative, absolute, of_largest,
    FILL: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    y = tl.load(out_ptr + offsets, mask=inside, other=0).to(tl.float32)
    expected = tl.load(expected_ptr + offsets, mask=inside, other=0).to(tl.float32)
    near = absolute + of_largest * tl.load(largest_ptr).to(tl.float32)
    right = tl.abs(y - expected) <= relative * tl.abs(expected) + near  # not where y is NaN
    wrong = inside & (right == 0)
    tl.atomic_max(wrong_ptr, tl.max(wrong.to(tl.int32), axis=0))
    overwritten = tl.full([BLOCK], FILL, tl.float32).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + offsets, overwritten, mask=inside)


class Audit:
    """Compares and overwrites outputs of shape (M, N), one call after the other."""

    def __init__(self, like: torch.Tensor, op: str):
        self._baseline = controls.baseline(op)
        self._expected = torch.empty_like(like)
        self._largest = torch.empty((), dtype=like.dtype, device=like.device)
        self._wrong = torch.zeros(1, dtype=torch.int32, device=like.device)
        self._allowed = allowed(like.dtype, op)

    def __call__(self, *buffers: torch.Tensor) -> None:
        """Record whether the output differs from torch's, and overwrite it. Can be captured."""
        *inputs, out = buffers
        self._baseline(*inputs, self._expected)
        torch.amax(self._expected, dim=(0, 1), out=self._largest)
        n = out.numel()
        tensors = self._wrong, out.data, self._expected, self._largest
        audit_kernel[(triton.cdiv(n, BLOCK),)](*tensors, n, *self._allowed, UNTOUCHED, BLOCK)

    def problem(self) -> str | None:
        """Return None, or what was wrong since the last time."""
        wrong = self._wrong.item()
        self._wrong.zero_()
        return "a call in a timed graph did not do its work" if wrong else None


def allowed(dtype: torch.dtype, op: str) -> tuple[float, float, float]:
    """Return the allowed error: a share of the value, a number, a share of the largest value.

    Logarithms of a timed row are so similar that a share of the value would let a constant pass:
    they get a number, and what rounding needs. A gradient is a difference, which may be about 0:
    it gets a share of the largest.
    """
    round_off = UNIT_ROUNDOFF[dtype]
    if op == "log_softmax":
        return 2 * round_off, COARSE, 0.0
    of_largest = ATOL_ROUNDOFFS * round_off
    if op in controls.BACKWARD:
        of_largest = max(of_largest, NEAR_0)
    return COARSE, SMALLEST_NORMAL + 4 * SMALLEST[dtype], of_largest
