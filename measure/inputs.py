"""Draw a point's inputs from its distribution and seed: all variants get the same matrices."""

import itertools

import torch

import operations

from .clock.base import CallBuffers, Inputs, Out
from .device.opened import Device
from .point import Point

ROTATION_CACHES = 3  # the buffers of a rotation exceed so many caches, within MAX_ROTATION calls
MAX_ROTATION = 4096  # calls, each of which is a node of every graph
# Offsets from the seed of a point, so that each of its matrices has its own seed. The matrices
# of the rotation add only the index of the call.
SEED_OFFSETS = {
    "edge_cases": 2**32,
    "new_inputs": 2**33,  # other values in timed buffers
    "operand": 2**40,  # added as well, once for each operand besides x
}
_DRAW = {"uniform": torch.rand, "normal": torch.randn}  # uniform on [0, 1); standard normal


def draw(
    distribution: str,
    dtype: torch.dtype,
    sizes: tuple[int, ...],
    seed: int,
    device: torch.device,
) -> torch.Tensor:
    """Return a random tensor, drawn in float32 and rounded, so that dtypes share their values.

    It is bit-identical for the same arguments on the same kind of device.
    """
    generator = torch.Generator(device).manual_seed(seed)
    x = _DRAW[distribution](*sizes, generator=generator, device=device, dtype=torch.float32)
    return x.to(dtype)


def draw_for(
    op: str, distribution: str, dtype: torch.dtype, rows: int, cols: int, seed: int, device
) -> Inputs:
    """Return the inputs of a call of ``op`` on a matrix (rows, cols) from ``draw``.

    Other operands come from ``draw_operand``, each with its own seed.
    """
    operation, numbers = operations.load(op), itertools.count()

    def draw_other(operand: operations.Operand) -> torch.Tensor:
        other_seed = SEED_OFFSETS["operand"] * (1 + next(numbers)) + seed
        return draw_operand(operand, dtype, rows, cols, other_seed, device)

    return operation.inputs_of(draw(distribution, dtype, (rows, cols), seed, device), draw_other)


def draw_operand(
    operand: operations.Operand, dtype: torch.dtype, rows: int, cols: int, seed: int, device
) -> torch.Tensor:
    """Return an operand's values for a matrix (rows, cols).

    They are standard normal; those of int64 are indices of a row's elements, uniform on [0, cols).
    """
    sizes = operand.sizes(rows, cols)
    if operand.dtype == "int64":
        generator = torch.Generator(device).manual_seed(seed)
        return torch.randint(cols, sizes, generator=generator, device=device)
    return draw("normal", _dtype_of(operand, dtype), sizes, seed, device)


def _dtype_of(operand: operations.Operand, dtype: torch.dtype) -> torch.dtype:
    return getattr(torch, operand.dtype) if operand.dtype else dtype


def out_like(op: str, inputs: Inputs) -> Out:
    """Return tensors like the outputs of a call, without memory for their elements."""
    operation = operations.load(op)
    rows, cols, dtype = operation.sizes_and_dtype(inputs)
    scalars = (
        torch.empty((), dtype=_dtype_of(output, dtype), device=inputs[0].device).expand(
            output.sizes(rows, cols)
        )
        for output in operation.outputs
    )
    return operations.as_out(tuple(scalars))


def empty_out(op: str, inputs: Inputs) -> Out:
    """Return new, uninitialised tensors for the outputs of a call."""
    like = operations.as_tuple(out_like(op, inputs))
    out = tuple(torch.empty_like(y, memory_format=torch.contiguous_format) for y in like)
    return operations.as_out(out)


def spoil(out: Out) -> Out:
    """Fill the outputs of a call with what no call writes: NaN, or -1 in place of an index."""
    for y in operations.as_tuple(out):
        y.fill_(float("nan") if y.is_floating_point() else -1)
    return out


def rotation_length(call_bytes: int, cache_bytes: int) -> int:
    """Return how many calls it takes to exceed three caches; at least 2, at most MAX_ROTATION."""
    return min(MAX_ROTATION, max(2, ROTATION_CACHES * cache_bytes // call_bytes + 1))


def rotation(point: Point, device: Device, first: Inputs) -> list[CallBuffers]:
    """Return the buffers of every call of a rotation; the first call reads ``first``."""
    count = rotation_length(point.call_bytes, device.cache_bytes)
    further = [draw_at(point, first[0].device, index) for index in range(1, count)]
    return [(*inputs, empty_out(point.op, inputs)) for inputs in (first, *further)]


def draw_at(point: Point, device: torch.device, index: int) -> Inputs:
    """Return the inputs at an index of the rotation, or at an offset of SEED_OFFSETS."""
    dtype, seed = getattr(torch, point.dtype), point.seed + index
    return draw_for(point.op, point.distribution, dtype, point.M, point.N, seed, device)
