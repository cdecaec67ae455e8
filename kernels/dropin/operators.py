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
from .operation import KnownLaunch, Operation


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
        return operation.new_output(arguments[0], *arguments[-2:])

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
    """Register the derivative by the first input, which the operation's gradient computes."""
    gradient = operation.gradient
    saved = [name for name in gradient.inputs if name != "g"]
    g_index = gradient.inputs.index("g")

    def save(ctx, inputs, output):
        *tensors, dim, _ = inputs
        by_name = dict(zip((*operation.inputs, operation.output), (*tensors, output), strict=True))
        ctx.save_for_backward(*(by_name[name] for name in saved))
        ctx.options = dim, tensors[0].dtype

    def backward(ctx, g):
        tensors = [*ctx.saved_tensors]
        tensors.insert(g_index, g)
        dx = gradient.operator(*tensors, *ctx.options)
        return dx, *(None for _ in operation.inputs[1:]), None, None

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


def declare(function: Operation) -> None:
    """Make a function and its gradient known to torch."""
    for operation in (function, function.gradient):
        _register(operation)
    _differentiate(function)
    if function.gradient.formula:
        _differentiate_by_formula(function.gradient)


for _function in FUNCTIONS:
    declare(_function)


class EagerFunction(torch.autograd.Function):
    """Differentiate as the operators do, for eager callers and in less host time.

    It serves functions of one tensor whose gradient needs the output alone.
    Each argument, and each new object that a backward finds, costs 0.2 µs.
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
        # A compiler of the backward (compiled autograd) can see the operator alone. With gradients
        # enabled, the caller wants the derivative of this derivative.
        eager = not (is_dynamo_compiling() or is_grad_enabled())
        if eager and bypasses_dispatcher(g) and type(y) in TYPES:
            launch = gradient.known_launch(dim, dtype, g, y)
            dx = launch.repeat(g, y) if launch else gradient.launch_new(dim, dtype, g, y)
        return gradient.operator(g, y, dim, dtype) if dx is None else dx, None


# torch.autograd.Function.apply without its support for torch.func, which plain tensors never need:
# 4 instead of 6 µs (measured on a CPU).
apply = getattr(super(torch.autograd.Function, EagerFunction), "apply", EagerFunction.apply)
