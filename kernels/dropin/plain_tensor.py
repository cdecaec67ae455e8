"""Decide whether a tensor may go to a kernel directly, without torch's dispatcher.

The dispatcher serves autograd, autocast, vmap, tracing, negated views and more. It costs a Python
operator 11 µs of host time. ``plain`` checks in 0.8 µs that none of it applies (both measured with
torch 2.13). The caller checks autograd and autocast.
"""

import torch
from torch import Tensor

from . import device as devices

TYPES = (Tensor, torch.nn.Parameter)  # any other class may redefine softmax

_keys = torch._C._dispatch_keys
_transforms = torch._C._are_functorch_transforms_active
_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._is_torch_function_mode_enabled
_tracing = torch._C._is_tracing

# By device, the dispatch keys of plain tensors. A sparse, nested, negated or batched tensor has the
# same class, but other keys.
_plain_keys: dict[int, frozenset[int]] = {}


def plain(x: Tensor) -> bool:
    """Return whether x is a plain tensor and no transform, mode or trace needs to see the call."""
    if type(x) not in TYPES or _transforms() or _dispatch_modes() or _function_modes():
        return False
    keys = _plain_keys.get(x.get_device())
    if keys is None:
        keys = _learn(x)
    return _keys(x).raw_repr() in keys and not _tracing()


def _learn(x: Tensor) -> frozenset[int]:
    """Return the keys of plain tensors on x's device; none if the kernels do not run there."""
    keys = set()
    if devices.usable(x):
        for inference in (False, True):
            with torch.inference_mode(inference):
                keys.add(_keys(torch.empty(0, device=x.device)).raw_repr())
    return _plain_keys.setdefault(x.get_device(), frozenset(keys))
