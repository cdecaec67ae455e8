"""Compute softmax and log-softmax of torch tensors on NVIDIA GPUs.

``softmax(input, dim, dtype=None)`` and ``log_softmax`` have torch's signatures: any tensor,
differentiable, computed by the fastest kernels here. ``replace_torch()`` puts them behind torch's
own functions. ``token_log_probs``, ``logsumexp`` and ``cross_entropy`` read rows of logits once,
and write no matrix but the gradient.

This file is ``__init__.py`` of the package ``softmax_bench``, which pip installs. Importing it does
not import torch; the first use of a name does.
"""

import importlib
import sys
from collections.abc import Callable

_MODULES = {  # in dropin/
    "cross_entropy": "logits_api",
    "log_softmax": "api",
    "logsumexp": "logits_api",
    "replace_torch": "replace",
    "softmax": "api",
    "token_log_probs": "logits_api",
}
__all__ = [*_MODULES]


def __getattr__(name: str) -> Callable:
    if name not in _MODULES:
        raise AttributeError(f"module {__package__!r} has no attribute {name!r}")
    module = importlib.import_module(f".dropin.{_MODULES[name]}", __package__)
    setattr(sys.modules[__package__], name, getattr(module, name))  # found directly from now on
    return getattr(module, name)


def __dir__() -> list[str]:
    return __all__
