"""Define ``softmax`` and ``log_softmax``, which have torch's signatures.

A call takes one of three paths:

- directly to a kernel, when no compiler, transform or mode needs to see the call;
- through the custom operator (``operators``), when one does;
- to torch, for everything that the kernels do not support: other devices, dtypes and tensor
  classes, and torch.func's derivatives. torch then gives the result or the error.

Bytes: 2·M·N·itemsize if the rows have a common stride and fit on chip. Any other tensor is made
contiguous first, as torch does.
Host: the direct path costs one allocation and one launch; see ``eligible``. The names that it reads
are imported one by one, because each attribute look-up in a module takes 0.03 µs.
"""

from collections.abc import Callable

import torch
from torch import Tensor, is_autocast_enabled, is_grad_enabled
from torch.autograd import forward_ad
from torch.compiler import is_dynamo_compiling

from ..contract import VEC_BYTES
from ..tensors import current_device
from .eligible import (
    FAKE_TENSORS,
    TYPES,
    as_int,
    dispatch_modes,
    function_modes,
    has_plain_storage,
    only_default_devices,
    only_vmap,
    takes,
    tracing,
    transforms,
)
from .functions import FUNCTIONS
from .library_function import KnownLaunch, LibraryFunction
from .operators import apply

FLOAT32 = torch.float32
TYPES_16 = (torch.float16, torch.bfloat16)


def _public(declared: LibraryFunction) -> Callable[..., Tensor]:
    """Return the function with the name and the arguments of torch's own."""
    name = declared.name
    # looked up now, because a user may replace torch's functions with this module's later
    functions_of_torch = getattr(torch, name), getattr(torch.nn.functional, name)

    def function(
        input: Tensor,
        dim: int,
        dtype: torch.dtype | None = None,
        *,
        out: Tensor | None = None,
        temperature: float | Tensor | None = None,
        _stacklevel: int | None = None,
    ) -> Tensor:
        if temperature is not None:
            return _with_temperature(function, input, dim, dtype, out, temperature)
        if out is None and not is_dynamo_compiling():
            y = _direct(input, dim, dtype, declared)
            if y is not None:
                return y
        if out is None and _operator_takes(input, dim, dtype):
            x, dtype = _cast(input, dtype)
            return declared.operator(x, dim % x.dim(), dtype)
        if dim is None and _stacklevel is not None:  # only torch.nn.functional has a default for it
            return functions_of_torch[1](input, dim, _stacklevel + 1, dtype)
        # only the keywords that were given, because torch's error messages quote them
        keywords = {"dtype": dtype, "out": out}
        keywords = {name: value for name, value in keywords.items() if value is not None}
        return functions_of_torch[0](input, dim, **keywords)

    function.__doc__ = f"""Return ``torch.{name}(input, dim, dtype)`` for any rank and strides.

    Differentiable. This package's kernels compute float32, float16 and bfloat16 on an NVIDIA GPU,
    with arithmetic in float32; torch computes everything else.

    ``dim``: the dimension over which the values of softmax add up to 1.
    ``dtype``: input is cast to it first, and the result has it; None keeps input's.
    ``out``: torch writes the result to it.
    ``temperature``: input is divided by it. It is a number above 0, or a tensor of input's shape
    without ``dim``, whose values are not checked. The division is in float32, takes one more pass
    over the matrix, and does not change the dtype of the result.
    ``_stacklevel`` is an argument of ``torch.nn.functional.{name}``, and passed on to it.

    The result is contiguous and has input's shape. Raises what torch raises, ValueError for a
    temperature of another shape or not above 0, and TypeError for a complex one.

    >>> {name}(logits, -1, dtype=torch.float32, temperature=0.7)
    """
    function.__name__ = function.__qualname__ = name
    function.__module__ = __package__.partition(".")[0]  # help(), tracebacks and pickle show it
    return function


softmax, log_softmax = map(_public, FUNCTIONS)


def sampling_softmax(
    logits: Tensor, temperature: float | Tensor | None = None, enable_pdl: bool | None = None
) -> Tensor:
    """Return softmax(logits / temperature) of logits (M, V), in float32, for sampling.

    The arguments are those of ``flashinfer.sampling.softmax``. ``temperature`` is a number or a
    tensor (M,); 0 makes all finite logits of a row equally likely. ``enable_pdl`` has no effect.
    Raises ValueError for a negative number or a tensor of another shape, and TypeError for complex
    numbers.
    """
    if temperature is None:
        return softmax(logits, -1, dtype=FLOAT32)
    if not isinstance(temperature, Tensor):
        if temperature < 0:
            raise ValueError(f"temperature = {temperature}; a number from 0 on is needed")
        if temperature != 0:
            return softmax(logits, -1, dtype=FLOAT32, temperature=temperature)
        temperature = logits.new_zeros((), dtype=FLOAT32)
    divisor = _along(temperature, logits, -1).to(FLOAT32)
    scaled = logits.to(FLOAT32) / divisor.masked_fill(divisor == 0, torch.inf)
    return softmax(scaled.masked_fill(logits == -torch.inf, -torch.inf), -1)  # not -inf / inf


sampling_softmax.__module__ = __package__.partition(".")[0]


def _with_temperature(
    function: Callable[..., Tensor],
    x: Tensor,
    dim: int,
    dtype: torch.dtype | None,
    out: Tensor | None,
    temperature: float | Tensor,
) -> Tensor:
    """Return ``function`` of x / temperature, computed in float32. Raises ValueError, TypeError."""
    dim, is_tensor = as_int(dim), isinstance(x, Tensor)
    rank = max(1, x.dim()) if is_tensor else 0
    is_valid = is_tensor and type(dim) is int and -rank <= dim < rank
    result_dtype = x.dtype if is_valid and dtype is None else dtype
    if not (isinstance(result_dtype, torch.dtype) and is_valid and result_dtype.is_floating_point):
        return function(x, dim, dtype=dtype)  # torch raises
    if dtype is None:
        widened = x.is_cuda and x.dtype in TYPES_16 and is_autocast_enabled("cuda")
        dtype = FLOAT32 if widened else x.dtype
    wide = torch.promote_types(FLOAT32, dtype)
    if isinstance(temperature, Tensor):
        temperature = _along(temperature, x, dim).to(wide)
    elif not temperature > 0:
        raise ValueError(f"temperature = {temperature}; a number above 0 is needed")
    elif not isinstance(temperature, float):
        temperature = float(temperature)  # NumPy would divide by an array of one number
    # torch's order: first the cast to dtype, then everything else
    y = function(x.to(dtype).to(wide) / temperature, dim).to(dtype)
    if out is None:
        return y
    if isinstance(out, Tensor) and out.dtype is not dtype:
        raise RuntimeError(
            f"Expected out tensor to have dtype {dtype}, but got {out.dtype} instead"
        )
    return torch.mul(y, 1, out=out)


def _along(temperature: Tensor, x: Tensor, dim: int) -> Tensor:
    """Return a temperature tensor by which x can be divided, one value per row over ``dim``.

    ``temperature`` has x's shape without ``dim``, or no dimension, and then holds for all rows.
    Raises ValueError for another shape, and TypeError for complex numbers.
    """
    if temperature.is_complex():
        raise TypeError(f"temperature is {temperature.dtype}; real numbers are needed")
    if temperature.dim() == 0:
        return temperature.to(x.device)
    shape = [size for place, size in enumerate(x.shape) if place != dim % x.dim()]
    if list(temperature.shape) != shape:
        actual = tuple(temperature.shape)
        raise ValueError(f"temperature has shape {actual}; allowed: {tuple(shape)}, or a number")
    return temperature.unsqueeze(dim)


def _direct(
    x: Tensor, dim: int, dtype: torch.dtype | None, declared: LibraryFunction
) -> Tensor | None:
    """Return the result without going through torch's dispatcher, or None if it must see the call.

    ``bypasses_dispatcher`` and ``known_launch`` are inlined here, as calling them costs 0.2 µs.
    """
    if type(x) not in TYPES or transforms() or dispatch_modes() or tracing():
        return None
    if function_modes() and not only_default_devices():
        return None
    if forward_ad._current_level >= 0 or type(dim) is not int:
        return None
    x_dtype = x.dtype
    if dtype is None and x_dtype is not FLOAT32 and is_autocast_enabled("cuda"):
        dtype = FLOAT32  # autocast's own rule for softmax
    try:
        device = x.get_device()
        launch = declared.known_launches.get((x.shape, x_dtype, dtype, device, dim))
        if launch is not None and not (
            device == current_device()
            and x.is_contiguous()
            and not x.is_neg()
            and (address := x.data_ptr())
            and address % VEC_BYTES == 0
        ):
            launch = None
    except (RuntimeError, TypeError):
        launch = None
    differentiable = x.requires_grad and is_grad_enabled()
    if launch is None:
        if not has_plain_storage(x) or not takes(dim, dtype, x):
            return None
        x, dtype = _cast(x, dtype)
        dim %= x.dim()
        if not differentiable:
            return declared.launch(dim, dtype, x)
        gradient = declared.gradient, dim, x.dtype
        launch = KnownLaunch(lambda x: declared.compute(x, dim, dtype), gradient)
    return apply(x, launch) if differentiable else launch.repeat(x)


def _cast(x: Tensor, dtype: torch.dtype | None) -> tuple[Tensor, torch.dtype | None]:
    """Return the tensor that a kernel reads, and the dtype that it writes; None: the tensor's own.

    torch casts the input before it computes the softmax. A cast to float32 is exact, so a kernel
    may read the uncast input and write float32; for any other dtype the cast comes first here, too.
    """
    if dtype is None and is_autocast_enabled("cuda"):
        dtype = FLOAT32
    if dtype is None or dtype is x.dtype:
        return x, None
    return (x, dtype) if dtype is FLOAT32 else (x.to(dtype), None)


def _operator_takes(x: Tensor, dim: int, dtype: torch.dtype | None) -> bool:
    """Return whether the custom operator serves the call; a compiler can trace this."""
    return (
        (type(x) in TYPES or isinstance(x, FAKE_TENSORS))
        and x.layout == torch.strided
        and not x.is_nested
        and takes(dim, dtype, x)
        and getattr(forward_ad, "_current_level", -1) < 0
        and only_vmap()
    )
