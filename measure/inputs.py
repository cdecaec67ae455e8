"""Draw the matrices of a point from its distribution and seed: all variants get the same ones."""

import torch

import kernels

from .clock.base import CallBuffers, Inputs
from .device.opened import Device
from .point import Point

ROTATION_CACHES = 3  # that the buffers of a rotation exceed, unless MAX_ROTATION calls do not
MAX_ROTATION = 4096  # calls; each is a node of every graph
# Added to the seed of a point, so that no two of its matrices have one seed. Those of the rotation
# add only the index of a call.
SEED_OFFSETS = {
    "edge_cases": 2**32,
    "new_inputs": 2**33,  # other values in timed buffers
    "gradient": 2**40,  # on top of the others
}
_DRAW = {"uniform": torch.rand, "normal": torch.randn}  # uniform on [0, 1); standard normal


def draw(
    distribution: str, dtype: torch.dtype, rows: int, cols: int, seed: int, device: torch.device
) -> torch.Tensor:
    """Return x of shape (rows, cols), drawn in float32 and rounded: all dtypes get one matrix.

    Bit-identical for the same arguments on the same kind of device.
    """
    generator = torch.Generator(device).manual_seed(seed)
    x = _DRAW[distribution](rows, cols, generator=generator, device=device, dtype=torch.float32)
    return x.to(dtype)


def draw_for(
    op: str, distribution: str, dtype: torch.dtype, rows: int, cols: int, seed: int, device
) -> Inputs:
    """Return the inputs of a call of ``op``: (x,), or (g, y), each of shape (rows, cols).

    x is that of ``draw``, y its ``forward``, and g, the gradient by y, is normal.
    """
    x = draw(distribution, dtype, rows, cols, seed, device)
    if len(kernels.OPS[op]) == 1:
        return (x,)
    g = draw("normal", dtype, rows, cols, SEED_OFFSETS["gradient"] + seed, device)
    return g, forward(op, x)


def forward(op: str, x: torch.Tensor) -> torch.Tensor:
    """Return the y that the backward ``op`` reads: torch's (log-)softmax of x, rounded once."""
    # in float32: on a CPU torch sums in the dtype, and a float16 sum overflows beyond 65504
    function = getattr(torch, op.removesuffix("_backward"))
    return function(x, dim=-1, dtype=torch.float32).to(x.dtype)


def rotation_length(call_bytes: int, cache_bytes: int) -> int:
    """Return how many calls' buffers exceed three caches; at least 2, at most MAX_ROTATION."""
    return min(MAX_ROTATION, max(2, ROTATION_CACHES * cache_bytes // call_bytes + 1))


def rotation(point: Point, device: Device, first: Inputs) -> list[CallBuffers]:
    """Return the buffers of every call of a rotation; the first call reads ``first``."""
    count = rotation_length(point.call_bytes, device.cache_bytes)
    others = [draw_at(point, first[0].device, index) for index in range(1, count)]
    return [(*inputs, torch.empty_like(inputs[0])) for inputs in (first, *others)]


def draw_at(point: Point, device: torch.device, index: int) -> Inputs:
    """Return the inputs (M, N) at an index: of the rotation, or from one of SEED_OFFSETS on."""
    dtype, seed = getattr(torch, point.dtype), point.seed + index
    return draw_for(point.op, point.distribution, dtype, point.M, point.N, seed, device)
