"""Compute softmax and log-softmax of torch tensors on NVIDIA GPUs.

``softmax(input, dim, dtype=None)`` and ``log_softmax`` have torch's signatures; they take any
tensor, are differentiable, and run the fastest kernels of this project. ``replace_torch()`` makes
torch's own functions run them. ``token_log_probs``, ``logsumexp`` and ``cross_entropy`` read rows
of logits once and write no matrix except the gradient; ``integrate`` makes TRL, verl, SGLang and
vLLM call them. ``sampling_softmax`` has FlashInfer's arguments.

This file is the ``__init__.py`` of the package ``softmax_bench``, which pip installs. Importing it
does not import torch; the first use of a name does.
"""

import importlib
import sys
from collections.abc import Callable
from types import ModuleType

_MODULES = {
    "cross_entropy": "dropin.logits.api",
    "integrate": "integrate",
    "log_softmax": "dropin.api",
    "logsumexp": "dropin.logits.api",
    "replace_torch": "dropin.replace",
    "sampling_softmax": "dropin.api",
    "softmax": "dropin.api",
    "token_log_probs": "dropin.logits.api",
}
__all__ = [*_MODULES]


def __getattr__(name: str) -> Callable | ModuleType:
    if name not in _MODULES:
        raise AttributeError(f"module {__package__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{_MODULES[name]}", __package__)
    value = getattr(module, name, module)  # `integrate` is a module
    setattr(sys.modules[__package__], name, value)  # found directly from now on
    return value


def __dir__() -> list[str]:
    return __all__
