"""Register the library's functions with torch: as custom operators, and as an autograd function.

The operators, ``softmax_bench::softmax`` and others, serve compilers, transforms and modes. They
run on every device, by torch's own functions where no kernel can. Each has a fake implementation,
from which compilers get shapes, a derivative, and a rule for ``vmap``. Second derivatives are
written with torch's functions, so that all higher ones exist. EagerFunction is a faster way to the
same results for eager calls.
Source: torch's manual, "Custom Python operators".
"""

import torch
from torch import Tensor, is_grad_enabled
from torch.compiler import is_dynamo_compiling
from torch.library import custom_op

from .eligible import TYPES, bypasses_dispatcher, eager_apply
from .functions import FUNCTIONS
from .library_function import KnownLaunch, LibraryFunction, new_output


def _register(function: LibraryFunction) -> None:
    """Register ``softmax_bench::NAME(*inputs, dim, dtype)`` for a function."""
    tensors = ", ".join(f"Tensor {name}" for name in function.inputs)
    operator = custom_op(
        f"softmax_bench::{function.name}",
        function.compute,
        mutates_args=(),
        schema=f"({tensors}, int dim, ScalarType? dtype) -> Tensor",
    )
    function.operator = operator

    def fake(*arguments) -> Tensor:
        return new_output(arguments[0], arguments[-1])

    def map_batch(info, in_dims, *arguments) -> tuple[Tensor, int]:
        *inputs, dim, dtype = arguments
        batches = (
            x.expand(info.batch_size, *x.shape) if batch is None else x.movedim(batch, 0)
            for x, batch in zip(inputs, in_dims, strict=False)
        )
        return operator(*batches, dim + 1, dtype), 0

    operator.register_fake(fake)
    operator.register_vmap(map_batch)


def _differentiate(function: LibraryFunction) -> None:
    """Register the derivative: the function's gradient, computed from the saved output."""

    def save(ctx, inputs, output):
        x, dim, _ = inputs
        ctx.save_for_backward(output)
        ctx.options = dim, x.dtype

    def backward(ctx, g):
        return function.gradient.operator(g, *ctx.saved_tensors, *ctx.options), None, None

    function.operator.register_autograd(backward, setup_context=save)


def _differentiate_by_formula(function: LibraryFunction) -> None:
    """Register the derivative of a gradient: its formula in torch's functions, in y's dtype."""

    def save(ctx, inputs, output):
        g, y, ctx.dim, _ = inputs
        ctx.save_for_backward(g, y)

    def backward(ctx, v):
        g, y = ctx.saved_tensors
        return *function.formula(g, y, v.to(y.dtype), ctx.dim), None, None

    function.operator.register_autograd(backward, setup_context=save)


def declare(function: LibraryFunction) -> None:
    """Register a function and its gradient with torch."""
    _register(function)
    _register(function.gradient)
    _differentiate(function)
    _differentiate_by_formula(function.gradient)


for _function in FUNCTIONS:
    declare(_function)


class EagerFunction(torch.autograd.Function):
    """Differentiate as the operators do, for eager calls, in less host time.

    Each argument, and each object that is made for the backward, costs 0.2 µs.
    """

    @staticmethod
    def forward(ctx, x: Tensor, launch: KnownLaunch) -> Tensor:
        y = launch.repeat(x)
        ctx.save_for_backward(y)
        ctx.gradient = launch.gradient
        return y

    @staticmethod
    def backward(ctx, g: Tensor):
        (y,) = ctx.saved_tensors
        gradient, dim, dtype = ctx.gradient
        dx = None
        # Compiled autograd can trace only the operator. And if gradients are enabled here, the
        # caller wants a second derivative, which only the operator has.
        eager = not (is_dynamo_compiling() or is_grad_enabled())
        if eager and bypasses_dispatcher(g) and type(y) in TYPES:
            launch = gradient.known_launch(dim, dtype, g, y)
            dx = launch.repeat(g, y) if launch else gradient.launch_new(dim, dtype, g, y)
        return gradient.operator(g, y, dim, dtype) if dx is None else dx, None


apply = eager_apply(EagerFunction)
