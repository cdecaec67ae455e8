"""Compute a function over one dimension by the first route that works, and remember the launch.

A tensor is (outer, n, inner), and the function is over n. Over the last dimension n is a row of a
matrix, and inner is 1. Over another one n is a column, also where inner is 1, so that a column
gives the same bits beside any number of others. Its kernel reads the tensor in place: transposing
it to rows and back would move every byte three times.

Whatever fails on the way to a launch leaves the call to the next route: CUDA C++, then Triton, then
torch. NVRTC may be missing, the driver too old, the cluster too large for a part of a GPU. The
first failure of a route on a GPU is logged as a warning.
"""

import contextlib
import functools
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor

from ..contract import LONGEST_ROW, MAX_BLOCKS, VEC_BYTES
from ..tensors import current_device
from .eligible import has_plain_storage, takes, torch_private

MAX_KNOWN = 4096  # launches that a function remembers, and failures that all remember
# Rows, or columns beside each other, of a call. A kernel rounds them up to whole tiles in 32 bits.
MAX_ROWS = MAX_BLOCKS - 32
# Inductor's allocator takes 0.7 µs, torch.empty_like 1.9 µs (H100 machine).
empty_cuda = next(iter(torch_private("_C._dynamo.guards:_empty_strided_cuda")), None)

logger = logging.getLogger(__package__.partition(".")[0])
_failed: set[tuple] = set()  # (function, language, what decides whether it can compute a call)
_warned: set[tuple] = set()  # (function, language, device)


class Call(NamedTuple):
    """Hold what a route gets: the output, and the inputs, all on the current device.

    The tensors have any rank: each view would cost the host 0.8 µs, so sizes are numbers. The first
    input has ``stride`` elements from one row to the next, and adjacent columns; 0 repeats one row.
    Of columns ``stride`` is None, and it is contiguous. The others and the output are contiguous;
    each has its own dtype.
    """

    out: Tensor
    inputs: tuple[Tensor, ...]
    outer: int
    n: int
    inner: int
    stride: int | None

    @property
    def device(self) -> int:
        return self.out.get_device()

    def failure_key(self) -> tuple:
        """Return what decides whether a route can compute a call: never the number of rows."""
        dtypes = (tensor.dtype for tensor in (*self.inputs, self.out))
        return self.device, self.n, self.stride is None, *dtypes


# ``repeater(allocate, again)`` returns what repeats a launch for inputs of the same sizes that are
# contiguous and aligned: ``allocate()`` makes the output, and ``again(*inputs)`` computes it by any
# route where the launch fails.
Repeater = Callable[[Callable[[], Tensor], Callable[..., Tensor]], Callable[..., Tensor]]


class Route(NamedTuple):
    """Name one way to compute a function.

    ``launch(call)`` writes the output and returns what can repeat it, or returns None for a call
    that the route does not take.
    """

    language: str
    launch: Callable[[Call], Repeater | None]


class KnownLaunch(NamedTuple):
    """Hold how a function is computed for one shape over one dimension, and no tensor."""

    repeat: Callable[..., Tensor]
    gradient: tuple  # the function that gives the gradient, ``dim``, and the gradient's dtype


@dataclass(eq=False)
class LibraryFunction:
    """Declare a function over one dimension of a tensor, or its gradient.

    The first input may have any strides. A second input and the output have its shape.
    ``torch_function(*inputs, dim, dtype)`` is torch's own way, in ``dtype`` or the first input's.
    """

    name: str  # the operator is softmax_bench::NAME
    inputs: tuple[str, ...]
    routes: tuple[Route, ...]
    torch_function: Callable[..., Tensor]
    may_narrow: bool  # the output may have fewer bits than the inputs
    aten: str  # torch's operator, which ``replace_torch`` replaces
    # The gradient with respect to the input, computed from g, the gradient with respect to the
    # output, and from the output y.
    gradient: "LibraryFunction | None" = None
    # A gradient's own: ``formula(g, y, v, dim)`` returns the gradients of Σ v·dx with respect to g
    # and y, by torch's functions.
    formula: Callable[..., tuple[Tensor, Tensor]] | None = None
    operator: Callable[..., Tensor] | None = None  # softmax_bench::NAME; ``operators`` sets it
    # Contiguous, aligned inputs are known by shape and dtype of the first, dtype of the output
    # (None: the same), device and dim, then by shape, dtype and device of the others.
    known_launches: dict[tuple, KnownLaunch] = field(default_factory=dict)

    def compute(self, *arguments) -> Tensor:
        """Return the contiguous output for (*inputs, dim, dtype), by torch where no kernel can.

        ``dim`` is 0 … rank-1, and the output has ``dtype``, or the first input's.
        """
        *inputs, dim, dtype = arguments
        if launch := self.known_launch(dim, dtype, *inputs):
            return launch.repeat(*inputs)
        y = None
        if self.may_narrow or dtype in (None, inputs[0].dtype, torch.float32):
            y = self.launch_new(dim, dtype, *inputs) if takes(dim, dtype, *inputs) else None
        return self.torch_function(*inputs, dim, dtype) if y is None else y

    def launch(self, dim: int, dtype: torch.dtype | None, *inputs: Tensor) -> Tensor | None:
        """Compute what ``takes`` takes; return None where no kernel can."""
        launch = self.known_launch(dim, dtype, *inputs)
        return launch.repeat(*inputs) if launch else self.launch_new(dim, dtype, *inputs)

    def known_launch(
        self, dim: int, dtype: object, x: Tensor, y: Tensor | None = None
    ) -> KnownLaunch | None:
        """Return the launch that was made for inputs like these, or None if they need another one.

        Every gradient comes here, so one and two inputs are written out: a loop takes 0.1 µs more.
        ``dim`` may be negative, and the arguments may be invalid: torch reports that later.
        """
        try:
            device = x.get_device()
            if y is None:
                key = x.shape, x.dtype, dtype, device, dim
            else:
                key = x.shape, x.dtype, dtype, device, dim, y.shape, y.dtype, y.get_device()
            launch = self.known_launches.get(key)
            if launch is None or device != current_device() or not x.is_contiguous() or x.is_neg():
                return None
            address = x.data_ptr()
            if y is not None:
                if y.is_neg() or not y.is_contiguous():
                    return None
                y_address = y.data_ptr()
                address = address and y_address and address | y_address
        except (RuntimeError, TypeError):  # x lies nowhere, or is nested or sparse; dtype is none
            return None
        return launch if address and address % VEC_BYTES == 0 else None

    def launch_new(self, dim: int, dtype: torch.dtype | None, *inputs: Tensor) -> Tensor | None:
        """Compute ``launch`` where no launch is known."""
        x = inputs[0]
        shape, numel, device = x.shape, x.numel(), x.get_device()
        for tensor in inputs[1:]:
            if tensor.shape != shape or tensor.get_device() != device:
                return None
        n = shape[dim]
        if not fits_index_range(numel, n) or not all(map(has_plain_storage, inputs)):
            return None
        inner = math.prod(shape[dim + 1 :])
        first, stride = _rows(x, n, dim)
        more_inputs = (tensor.contiguous() for tensor in inputs[1:])
        out = new_output(x, dtype)
        call = Call(out, (first, *more_inputs), numel // (n * inner), n, inner, stride)
        with on_device(device):
            computed, repeater = self._first_that_works(call)
        if repeater and all(map(_is_repeatable, inputs)):
            self._remember(inputs, out, dim, repeater)
        return out if computed else None

    def _first_that_works(self, call: Call) -> tuple[bool, Repeater | None]:
        """Let the first route compute that takes the call and does not fail.

        Returns whether one did, and what repeats it. That is None after an out-of-memory error: the
        next call tries the first route again.
        """
        forgiven = False
        for index, (language, launch) in enumerate(self.routes):
            if has_failed(self.name, language, call.failure_key):
                continue
            try:
                if repeater := launch(call):
                    return True, None if forgiven else repeater
            except Exception as error:
                successor = [*(route.language for route in self.routes), "torch"][index + 1]
                forgiven |= note_failure(self.name, language, call.failure_key(), successor, error)
        return False, None

    def _remember(
        self, inputs: tuple[Tensor, ...], out: Tensor, dim: int, repeater: Repeater
    ) -> None:
        """Let ``known_launch`` find the launch for tensors like these, over ``dim``."""
        x, dtype = inputs[0], out.dtype

        def again(*inputs: Tensor) -> Tensor:
            """Compute after a known launch failed, as in a context with fewer multiprocessors."""
            self.known_launches.clear()
            return self.compute(*inputs, dim, dtype)

        repeat = repeater(_allocator(out), again)
        launch = KnownLaunch(repeat, (self.gradient, dim, x.dtype))
        facts = [(tensor.shape, tensor.dtype, tensor.get_device()) for tensor in inputs[1:]]
        if len(self.known_launches) >= MAX_KNOWN:
            self.known_launches.clear()
        for dim_name in (dim, dim - x.dim()):
            for dtype_name in {dtype, None} if dtype is x.dtype else {dtype}:
                key = x.shape, x.dtype, dtype_name, x.get_device(), dim_name, *chain(*facts)
                self.known_launches[key] = launch


def has_failed(name: str, language: str, failure_key: Callable[[], tuple]) -> bool:
    """Return whether a route has failed for calls with the same ``failure_key()``."""
    return bool(_failed) and (name, language, *failure_key()) in _failed


def note_failure(
    name: str, language: str, failure_key: tuple, successor: str, error: Exception
) -> bool:
    """Remember and log that a route failed. Return whether memory was short: then forget it.

    ``failure_key`` begins with the device and the length of a row.
    """
    device, n, *_ = failure_key
    forgiven = isinstance(error, torch.OutOfMemoryError) or "OUT_OF_MEMORY" in str(error)
    if not forgiven:
        if len(_failed) >= MAX_KNOWN:
            _failed.clear()
        _failed.add((name, language, *failure_key))
    route = name, language, device
    level = logging.DEBUG if route in _warned else logging.WARNING
    _warned.add(route)
    text = "%s in %s failed on cuda:%d at rows of %d; %s computes them instead. %s: %s"
    logger.log(level, text, *route, n, successor, type(error).__name__, error)
    return forgiven


def on_device(device: int) -> contextlib.AbstractContextManager:
    """Return a context in which a GPU is the current one."""
    if device >= 0 and device != current_device():
        return torch.cuda.device(device)
    return contextlib.nullcontext()


def fits_index_range(numel: int, n: int) -> bool:
    """Return whether the kernels count so many elements in rows of n."""
    return numel > 0 and n <= LONGEST_ROW and numel // n <= MAX_ROWS


def new_output(x: Tensor, dtype: torch.dtype | None) -> Tensor:
    """Return a new contiguous tensor of x's shape, in ``dtype`` or x's.

    A contiguous x may have other strides in dimensions of size 1, and torch's softmax drops them.
    """
    return torch.empty_like(x, dtype=dtype or x.dtype, memory_format=torch.contiguous_format)


def _is_repeatable(x: Tensor) -> bool:
    """Return whether x is contiguous and aligned, as ``known_launch`` demands."""
    if not x.is_contiguous() or x.is_neg():
        return False
    return x.data_ptr() != 0 and x.data_ptr() % VEC_BYTES == 0


def _allocator(x: Tensor) -> Callable[[], Tensor]:
    """Return what allocates a tensor like x, a contiguous one, on the current device."""
    sizes = tuple(x.shape), x.stride()
    if x.is_cuda and empty_cuda:
        return functools.partial(empty_cuda, *sizes, x.dtype)
    return functools.partial(torch.empty_strided, *sizes, dtype=x.dtype, device=x.device)


def _rows(x: Tensor, n: int, dim: int) -> tuple[Tensor, int | None]:
    """Return x or a contiguous copy, and the stride of its rows; None for columns.

    Rows may be non-contiguous, and a stride of 0 repeats one row. Columns are copied unless x is
    contiguous.
    """
    if dim < x.dim() - 1:
        return x.contiguous(), None
    if x.is_contiguous():
        return x, n
    try:
        matrix = x.view(-1, n)
    except RuntimeError:  # its rows have several strides
        pass
    else:
        if n == 1 or matrix.stride(1) == 1:
            return x, matrix.stride(0)
    return x.contiguous(), n
