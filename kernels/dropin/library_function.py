"""Compute a function over one dimension by the first route that works, and remember the launch.

A tensor is viewed as (outer, n, inner), and the function is over n. If that is the last dimension,
inner is 1 and the kernels see the rows of a matrix. Otherwise they see columns, even if inner
happens to be 1, so that a column gives the same bits beside any number of others. Column kernels
read the tensor in place: transposing it to rows and back would move every byte three times.

The routes are CUDA C++, then Triton, then torch. If anything fails on the way to a launch, the next
route takes the call: NVRTC may be missing, the driver too old, or a cluster too large for a MIG
slice. The first failure of a route on a GPU is logged as a warning.
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

MAX_KNOWN = 4096  # launches kept per function, and failures kept in all
# Rows, or adjacent columns, of a call, at most: kernels round them up to whole tiles in 32 bits.
MAX_ROWS = MAX_BLOCKS - 32
# Inductor's allocator takes 0.7 µs, torch.empty_like 1.9 µs (H100 machine).
empty_cuda = next(iter(torch_private("_C._dynamo.guards:_empty_strided_cuda")), None)

logger = logging.getLogger(__package__.partition(".")[0])
_failed: set[tuple] = set()  # (function, language, *Call.failure_key())
_warned: set[tuple] = set()  # (function, language, device)


class Call(NamedTuple):
    """Hold the arguments of a route: the output and the inputs, all on the current device.

    Tensors may have any rank; sizes are passed as numbers, because each view would cost the host
    0.8 µs. ``stride`` is the first input's row stride in elements, 0 if one row is repeated; its
    columns are adjacent. If the call is over columns, ``stride`` is None and the first input is
    contiguous. The other inputs and the output are contiguous. Each tensor has its own dtype.
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
        """Return what determines whether a route works: the number of rows is not part of it."""
        dtypes = (tensor.dtype for tensor in (*self.inputs, self.out))
        return self.device, self.n, self.stride is None, *dtypes


# ``repeater(allocate, again)`` returns a function of the inputs that repeats a launch, for inputs
# of the same sizes that are contiguous and aligned. It calls ``allocate()`` for the output, and
# ``again(*inputs)``, which tries every route, if the launch fails.
Repeater = Callable[[Callable[[], Tensor], Callable[..., Tensor]], Callable[..., Tensor]]


class Route(NamedTuple):
    """Name one way to compute a function.

    ``launch(call)`` writes the output and returns a Repeater, or None if it does not take the call.
    """

    language: str
    launch: Callable[[Call], Repeater | None]


class KnownLaunch(NamedTuple):
    """Hold how a function is computed for one shape over one dimension; it holds no tensor."""

    repeat: Callable[..., Tensor]
    gradient: tuple  # (the gradient's LibraryFunction, ``dim``, the gradient's dtype)


@dataclass(eq=False)
class LibraryFunction:
    """Declare a function over one dimension of a tensor, or its gradient.

    The first input may have any strides; a second input and the output have its shape.
    ``torch_function(*inputs, dim, dtype)`` is torch's own implementation, with a result in
    ``dtype`` or, for None, in the first input's.
    """

    name: str  # the operator is softmax_bench::NAME
    inputs: tuple[str, ...]
    routes: tuple[Route, ...]
    torch_function: Callable[..., Tensor]
    may_narrow: bool  # whether the output may have fewer bits than the inputs
    aten: str  # torch's operator, which ``replace_torch`` replaces
    # The function that computes the gradient with respect to the input, from g, the gradient with
    # respect to the output, and the output y.
    gradient: "LibraryFunction | None" = None
    # For a gradient: ``formula(g, y, v, dim)`` returns, by torch's functions, the gradients of
    # Σ v·dx with respect to g and y.
    formula: Callable[..., tuple[Tensor, Tensor]] | None = None
    operator: Callable[..., Tensor] | None = None  # softmax_bench::NAME; ``operators`` sets it
    # Launches for contiguous, aligned inputs. The key is the first input's shape and dtype, the
    # output's dtype (None: the same), device and dim, then shape, dtype and device of other inputs.
    known_launches: dict[tuple, KnownLaunch] = field(default_factory=dict)

    def compute(self, *arguments) -> Tensor:
        """Return the contiguous output for (*inputs, dim, dtype), by torch if no kernel can.

        ``dim`` is 0 … rank-1. The output has ``dtype`` or, for None, the first input's.
        """
        *inputs, dim, dtype = arguments
        if launch := self.known_launch(dim, dtype, *inputs):
            return launch.repeat(*inputs)
        y = None
        if self.may_narrow or dtype in (None, inputs[0].dtype, torch.float32):
            y = self.launch_new(dim, dtype, *inputs) if takes(dim, dtype, *inputs) else None
        return self.torch_function(*inputs, dim, dtype) if y is None else y

    def launch(self, dim: int, dtype: torch.dtype | None, *inputs: Tensor) -> Tensor | None:
        """Compute a call that ``takes`` accepts; return None if no kernel can."""
        launch = self.known_launch(dim, dtype, *inputs)
        return launch.repeat(*inputs) if launch else self.launch_new(dim, dtype, *inputs)

    def known_launch(
        self, dim: int, dtype: object, x: Tensor, y: Tensor | None = None
    ) -> KnownLaunch | None:
        """Return the launch remembered for inputs like these, or None if there is none.

        One and two inputs are written out, because a loop takes 0.1 µs more, for every gradient.
        ``dim`` may be negative. Invalid arguments give None; torch reports them later.
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
        except (RuntimeError, TypeError):  # no storage, nested, sparse, or not a dtype at all
            return None
        return launch if address and address % VEC_BYTES == 0 else None

    def launch_new(self, dim: int, dtype: torch.dtype | None, *inputs: Tensor) -> Tensor | None:
        """Compute what ``launch`` computes, if no launch is remembered for such inputs."""
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
        """Compute the call by the first route that supports it and does not fail.

        Returns whether there was one, and its Repeater; None in its place after an out-of-memory
        error, so that the next call tries the first route again.
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
        """Remember the launch, so that ``known_launch`` finds it for inputs like these."""
        x, dtype = inputs[0], out.dtype

        def again(*inputs: Tensor) -> Tensor:
            """Compute after a remembered launch failed, as in a context with fewer SMs."""
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
    """Return whether a route has failed before for calls with this ``failure_key()``."""
    return bool(_failed) and (name, language, *failure_key()) in _failed


def note_failure(
    name: str, language: str, failure_key: tuple, successor: str, error: Exception
) -> bool:
    """Log that a route failed, and remember it, unless memory was short. Return whether it was.

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
    """Return whether the kernels' indices can count ``numel`` elements in rows of n."""
    return numel > 0 and n <= LONGEST_ROW and numel // n <= MAX_ROWS


def new_output(x: Tensor, dtype: torch.dtype | None) -> Tensor:
    """Return a new contiguous tensor of x's shape, in ``dtype`` or x's.

    Like torch's softmax, it does not keep odd strides that x may have in dimensions of size 1.
    """
    return torch.empty_like(x, dtype=dtype or x.dtype, memory_format=torch.contiguous_format)


def _is_repeatable(x: Tensor) -> bool:
    """Return whether x is contiguous and aligned, as ``known_launch`` demands."""
    if not x.is_contiguous() or x.is_neg():
        return False
    return x.data_ptr() != 0 and x.data_ptr() % VEC_BYTES == 0


def _allocator(x: Tensor) -> Callable[[], Tensor]:
    """Return a function that allocates a tensor like x, which is contiguous, on this device."""
    sizes = tuple(x.shape), x.stride()
    if x.is_cuda and empty_cuda:
        return functools.partial(empty_cuda, *sizes, x.dtype)
    return functools.partial(torch.empty_strided, *sizes, dtype=x.dtype, device=x.device)


def _rows(x: Tensor, n: int, dim: int) -> tuple[Tensor, int | None]:
    """Return x or a contiguous copy of it, and its row stride in elements; None for columns.

    Rows may have any common stride; 0 repeats one row. For columns a non-contiguous x is copied.
    """
    if dim < x.dim() - 1:
        return x.contiguous(), None
    if x.is_contiguous():
        return x, n
    try:
        matrix = x.view(-1, n)
    except RuntimeError:  # the rows have no common stride
        pass
    else:
        if n == 1 or matrix.stride(1) == 1:
            return x, matrix.stride(0)
    return x.contiguous(), n
