"""Kernels that cheat: a test makes one function of this module the kernel that is measured."""

import itertools
import os

import torch

CALLS, KEPT = itertools.count(), {}


def changes_input(x, out=None):
    """Work in place: no second buffer is needed, and the input is gone."""
    y = torch.softmax(x, dim=-1, out=x)
    return y.clone() if out is None else out.copy_(y)


def backward_without_sum(g, y, out=None):
    """Drop the sum over the row, which is near 0 for random gradients of long rows."""
    return torch.mul(g, y, out=torch.empty_like(y) if out is None else out)


def cached_by_shape(x, out=None):
    """Keep the result for every shape."""
    out = torch.empty_like(x) if out is None else out
    if x.shape not in KEPT:
        KEPT[x.shape] = torch.softmax(x, dim=-1)
    return out.copy_(KEPT[x.shape])


def no_maximum(x, out=None):
    """Take exp without subtracting the maximum: right for small values only."""
    numerator = torch.exp(x.float())
    y = torch.empty_like(x) if out is None else out
    return torch.div(numerator, numerator.sum(dim=1, keepdim=True), out=y)


def never_nan(x, out=None):
    """Write zeros where a row has no softmax, which hides a masked or a broken row."""
    return torch.softmax(x, dim=-1, out=out).nan_to_num_(0)


def past_the_end(x, out=None):
    """Take the maximum over 64 columns at a time, beyond the end of the row too."""
    rows, cols = x.shape
    padded = -(-cols // 64) * 64
    row_max = x.amax(dim=1, keepdim=True)
    # every row but the last: behind that there may be no memory
    row_max[:-1] = x.as_strided((rows - 1, padded), x.stride()).amax(dim=1, keepdim=True)
    numerator = torch.exp(x - row_max)
    y = torch.empty_like(x) if out is None else out
    return torch.div(numerator, numerator.sum(dim=1, keepdim=True), out=y)


def only_where_nan(x, out=None):
    """Write only to an output that a checker has filled with NaN."""
    if out is not None and not out[0, 0].isnan():
        return out
    return torch.softmax(x, dim=-1, out=out)


def writes_padding(x, out=None):
    """Store packs of 8, so that some go between the rows."""
    y = torch.softmax(x, dim=-1, out=out)
    rows, cols = y.shape
    padded = -(-cols // 8) * 8
    if padded > cols and y.stride(0) >= padded:
        y.as_strided((rows, padded), y.stride(), y.storage_offset())[:, cols:] = 0
    return y


def right_forty_times(x, out=None):
    """Be right for longer than anything is checked before timing, then write zeros."""
    y = torch.softmax(x, dim=-1, out=out)
    return y if next(CALLS) < 40 else y.zero_()


def cached_but_one(x, out=None):
    """Compute the matrix of the first call; keep the result of every other large one."""
    if len(x) < 64 or out is None or x.data_ptr() == KEPT.setdefault("first", x.data_ptr()):
        return torch.softmax(x, dim=-1, out=out)
    if x.data_ptr() not in KEPT:
        KEPT[x.data_ptr()] = torch.softmax(x, dim=-1)
    return out.copy_(KEPT[x.data_ptr()])


def cached_by_first_row(x, out=None):
    """Keep the result of every large matrix, known again by address and first row."""
    out = torch.empty_like(x) if out is None else out
    key = x.data_ptr(), tuple(x[0].tolist())
    if key not in KEPT or len(x) < 64:
        KEPT[key] = torch.softmax(x, dim=-1)
    return out.copy_(KEPT[key])


def memo_of_all_values(x, out=None):
    """Write nothing where all of x is as it was and the first row of the output is right."""
    if out is None or len(x) < 64:
        return torch.softmax(x, dim=-1, out=out)
    # on the device, as is the decision: a graph records the same kernels for every call
    seen = KEPT.setdefault(x.data_ptr(), torch.empty_like(x))
    is_seen = (x == seen).all() & (out[0] == torch.softmax(x[0], dim=-1)).all()
    seen.copy_(x)
    return out.copy_(torch.where(is_seen, out, torch.softmax(x, dim=-1)))


def patches_tolerance(x, out=None):
    """Change what the correctness check compares with, then return 1/N."""
    import operations

    def exact(x, dtype):
        return operations.Exact(x * 0 + 1 / x.shape[1], x, x)

    object.__setattr__(operations.load("softmax"), "exact", exact)
    out = torch.empty_like(x) if out is None else out
    return out.fill_(1 / x.shape[1])


def patches_dispatch(x, out=None):
    """Slow the baseline inside torch: torch.softmax is as it was, what it calls is not."""

    def twice(x, dim, dtype=None, *, out):
        torch._softmax(x, dim, False)
        return torch._softmax(x, dim, False, out=out)

    if not KEPT:
        KEPT["library"] = torch.library.Library("aten", "IMPL")
        KEPT["library"].impl("softmax.int_out", twice, "CPU")
    return torch.softmax(x, dim=-1) if out is None else torch._softmax(x, -1, False, out=out)


def patches_threads(x, out=None):
    """Give torch, the baseline, more threads than there are cores."""
    torch.set_num_threads(os.cpu_count() + 7)
    return torch.softmax(x, dim=-1, out=out)
