"""Make operations known to torch: custom operators, and an autograd function for eager callers.

``softmax_bench::softmax`` and the others serve compilers, transforms and modes. They run on every
device; without a kernel they call torch's own. Each has a fake implementation for shapes, a
derivative and a rule for ``vmap``. The second derivative uses torch's functions, so all further
ones exist.
Source: torch's manual, "Custom Python operators".
"""

import torch
from torch import Tensor, is_grad_enabled
from torch.compiler import is_dynamo_compiling
from torch.library import custom_op

from .eligible import TYPES, bypasses_dispatcher
from .functions import FUNCTIONS
from .operation import KnownLaunch, Operation, empty_like


def _register(operation: Operation) -> None:
    """Register ``softmax_bench::NAME(*inputs, dim, dtype)`` for an operation."""
    tensors = ", ".join(f"Tensor {name}" for name in operation.inputs)
    operator = custom_op(
        f"softmax_bench::{operation.name}",
        operation.compute,
        mutates_args=(),
        schema=f"({tensors}, int dim, ScalarType? dtype) -> Tensor",
    )
    operation.operator = operator

    def fake(*arguments) -> Tensor:
        *inputs, _, dtype = arguments
        return empty_like(inputs[0], dtype or inputs[0].dtype)

    def map_batch(info, in_dims, *arguments) -> tuple[Tensor, int]:
        *inputs, dim, dtype = arguments
        batches = (
            x.expand(info.batch_size, *x.shape) if batch is None else x.movedim(batch, 0)
            for x, batch in zip(inputs, in_dims, strict=False)
        )
        return operator(*batches, dim + 1, dtype), 0

    operator.register_fake(fake)
    operator.register_vmap(map_batch)


def _differentiate(operation: Operation) -> None:
    """Register the derivative, by the operation's gradient."""
    gradient = operation.gradient.operator

    def save(ctx, inputs, output):
        x, dim, _ = inputs
        ctx.save_for_backward(output)
        ctx.options = dim, x.dtype

    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return gradient(g, y, *ctx.options), None, None

    operation.operator.register_autograd(backward, setup_context=save)


def _differentiate_by_formula(operation: Operation) -> None:
    """Register the derivative, by torch's functions, in the dtype of the last input."""

    def save(ctx, inputs, output):
        *tensors, ctx.dim, _ = inputs
        ctx.save_for_backward(*tensors)

    def backward(ctx, v):
        inputs = ctx.saved_tensors
        return *operation.formula(*inputs, v.to(inputs[-1].dtype), ctx.dim), None, None

    operation.operator.register_autograd(backward, setup_context=save)


for _function in FUNCTIONS:
    _register(_function)
    _register(_function.gradient)
    _differentiate(_function)
    _differentiate_by_formula(_function.gradient)


class EagerFunction(torch.autograd.Function):
    """Differentiate as the operators do, for eager callers and in less host time.

    Each argument, and each new object that a backward finds, costs 0.2 µs.
    """

    @staticmethod
    def forward(ctx, x: Tensor, known: KnownLaunch) -> Tensor:
        y = known.repeat(x)
        ctx.save_for_backward(y)
        ctx.gradient = known.gradient
        return y

    @staticmethod
    def backward(ctx, g: Tensor):
        (y,) = ctx.saved_tensors
        gradient, dim, dtype = ctx.gradient
        dx = None
        # A compiler of the backward (compiled autograd) can see the operator alone. With gradients
        # enabled, the caller wants the derivative of this derivative.
        eager = not (is_dynamo_compiling() or is_grad_enabled())
        if eager and bypasses_dispatcher(g) and type(y) in TYPES:
            dx = gradient.launch(dim, dtype, g, y)
        return gradient.operator(g, y, dim, dtype) if dx is None else dx, None


# torch.autograd.Function.apply without its support for torch.func, which plain tensors never need:
# 4 instead of 6 µs (measured on a CPU).
apply = getattr(super(torch.autograd.Function, EagerFunction), "apply", EagerFunction.apply)
