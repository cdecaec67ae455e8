"""Cheat: the same, inside torch: torch.softmax is as it was, what it calls is not.

Caught by: integrity: the kernel changed what torch dispatches aten::softmax.int_out to
"""

import torch

LIBRARY = torch.library.Library("aten", "IMPL")


def twice(x, dim, dtype=None, *, out):
    torch._softmax(x, dim, False)
    return torch._softmax(x, dim, False, out=out)


LIBRARY.impl("softmax.int_out", twice, "CPU")


def softmax(x, out=None):
    return (
        torch._softmax(x, -1, False, out=out) if out is not None else torch._softmax(x, -1, False)
    )
