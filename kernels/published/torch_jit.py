"""The five operations of ``torch_naive`` under torch.jit.script.

Bytes: as ``torch_naive``, less what TorchScript's fuser merges.
Limits: TorchScript is deprecated, and Python 3.14 and newer have none.
Source: Clay, "How to write softmax in Triton" (Sep 2024), RTX 3090.

Performance explained in: docs/explanation/why_kernels_differ.md#bytes-moved
"""

import functools
import sys
import warnings

import torch

from ..tensors import empty_output
from .torch_naive import softmax_in_five


@functools.cache
def _scripted():
    with warnings.catch_warnings():  # the docstring states the deprecation
        warnings.simplefilter("ignore")
        return torch.jit.script(softmax_in_five)


def unsupported(x: torch.Tensor) -> str | None:
    """Return None, or why TorchScript cannot be used here."""
    if sys.version_info >= (3, 14):
        return "torch.jit.script does not support Python 3.14 and newer"
    return None


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Return the row softmax of x (M, N); see ``kernels.Variant``."""
    return _scripted()(x, empty_output(x, out))
