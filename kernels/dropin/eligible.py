"""Decide whether a kernel may compute a call, and whether torch's dispatcher must see it.

``takes`` answers the first question for every caller. The second one is about host time: the
dispatcher serves autograd, autocast, vmap, tracing and more, and adds 11 µs to an operator in
Python. ``bypasses_dispatcher`` checks in 0.3 µs that none of these applies, except for autograd and
autocast, which its callers check (both times were measured with torch 2.13).

If a version of torch lacks one of the private names below, calls go through the dispatcher.
"""

import functools
import importlib.util
import numbers
import operator
import pkgutil
from collections.abc import Callable

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ..contract import CLUSTER_CAPABILITY, MIN_CAPABILITY
from ..tensors import DTYPES

TYPES = (Tensor, torch.nn.Parameter)  # any other subclass may override softmax


def torch_private(*paths: str) -> list:
    """Return private objects of torch, or [] if this version lacks one."""
    try:
        return [pkgutil.resolve_name(f"torch.{path}") for path in paths]
    except (AttributeError, ImportError):
        return []


FAKE_TENSORS = tuple(torch_private("_subclasses:FakeTensor"))  # tensors with which compilers trace
_FOR_BYPASS = torch_private(
    "_C:_are_functorch_transforms_active",
    "_C:_len_torch_dispatch_stack",
    "_C:_is_torch_function_mode_enabled",
    "_C:_is_tracing",
    "autograd.forward_ad:_current_level",
)
# If a name is missing, each check returns True, so that no call bypasses the dispatcher.
transforms, dispatch_modes, function_modes, tracing, _ = _FOR_BYPASS or [lambda: True] * 5
_FOR_DEVICES = torch_private(
    "overrides:_get_current_function_mode_stack", "utils._device:DeviceContext"
)
_FOR_VMAP = torch_private(
    "_functorch.pyfunctorch:retrieve_all_functorch_interpreters",
    "_C._functorch:TransformType.Vmap",
)


def constant(function):
    """Make compilers treat the result of ``function`` as a constant.

    torch.compiler.assume_constant_result does the same, but takes a second to import the compiler.
    """
    function._dynamo_marked_constant = True
    return function


def cached_constant(function):
    """Cache a function, and make compilers treat its result as a constant.

    functools.cache alone is not enough: a compiler would trace through it.
    """
    cached = functools.cache(function)

    @constant
    def call(*arguments):
        return cached(*arguments)

    call.__doc__, call.cache_clear = function.__doc__, cached.cache_clear
    return call


def as_int(value: object) -> object:
    """Return an int for what torch accepts as one: NumPy's integers, and tensors of one integer.

    Everything else is returned as it is; torch refuses it.
    """
    if type(value) is int:
        return value
    if isinstance(value, Tensor):
        fractional = value.is_floating_point() or value.is_complex() or value.dtype is torch.bool
        return value if value.dim() or fractional else operator.index(value)
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return operator.index(value) if is_integer else value


def takes(dim: object, dtype: object, *tensors: Tensor) -> bool:
    """Return whether a kernel may compute an operation over ``dim``, with a result in ``dtype``.

    Compilers trace this function, so it looks at neither sizes nor memory; a launch checks these.
    """
    rank = tensors[0].dim()
    if type(dim) is not int or not -rank <= dim < rank:
        return False
    if dtype is not None and dtype not in DTYPES:
        return False
    return all(x.dtype in DTYPES and on_usable_device(x) for x in tensors)


def on_usable_device(x: Tensor) -> bool:
    """Return whether x is on a GPU that the kernels run on."""
    return x.is_cuda and runs_kernels(x.get_device())


def has_capability(index: int, needed: tuple[int, int]) -> bool:
    """Return whether a GPU has a compute capability; a fake tensor's GPU may not even exist."""
    exists = 0 <= index < torch.cuda.device_count()
    return exists and torch.cuda.get_device_capability(index) >= needed


@cached_constant
def runs_kernels(index: int) -> bool:
    """Return whether at least the Triton kernels run on a GPU."""
    if not torch.version.cuda or importlib.util.find_spec("triton") is None:
        return False
    return has_capability(index, MIN_CAPABILITY)


def runs_cuda_kernels(index: int, needed: tuple[int, int] = CLUSTER_CAPABILITY) -> bool:
    """Return whether a GPU runs CUDA C++ kernels that need this compute capability.

    Kernels need NVIDIA's cuda-core, which torch and Triton do not bring.
    """
    return has_capability(index, needed) and all(
        map(importlib.util.find_spec, ("cuda", "cuda.core"))
    )


def bypasses_dispatcher(x: Tensor) -> bool:
    """Return whether x is a plain tensor and no transform, mode or trace needs to see the call."""
    if type(x) not in TYPES or transforms() or dispatch_modes() or tracing():
        return False
    if function_modes() and not only_default_devices():
        return False
    return forward_ad._current_level < 0


def eager_apply(function: type[torch.autograd.Function]) -> Callable:
    """Return ``function.apply`` without its support for torch.func, for plain tensors.

    It takes 4 instead of 6 µs (measured on a CPU).
    """
    return getattr(super(torch.autograd.Function, function), "apply", function.apply)


def only_default_devices() -> bool:
    """Return whether all active modes are default devices, which only affect new tensors.

    ``with torch.device(…)`` and ``torch.set_default_device`` activate such a mode.
    """
    if not _FOR_DEVICES:
        return False
    mode_stack, device_mode = _FOR_DEVICES
    return all(type(mode) is device_mode for mode in mode_stack())


@constant  # compilers guard on the transforms anyway
def only_vmap() -> bool:
    """Return whether vmap is torch.func's only active transform; operators support no other."""
    if not _FOR_VMAP:  # this torch cannot tell vmap from the others
        return not transforms()
    interpreters, vmap = _FOR_VMAP
    return all(transform.key() == vmap for transform in interpreters())


def has_plain_storage(x: Tensor) -> bool:
    """Return whether x's values lie in memory according to its strides.

    Those of a sparse, nested, lazily negated or empty tensor do not, although its class is torch's.
    """
    if x.is_nested or x.layout is not torch.strided or x.is_neg():
        return False
    try:
        return x.data_ptr() != 0
    except RuntimeError:  # no storage, as in a batched torch.autograd.grad, for example
        return False
