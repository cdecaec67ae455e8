"""The matrices that are measured: the same for every variant, from distribution and seed."""

import torch

_DRAW = {"uniform": torch.rand, "normal": torch.randn}  # uniform on [0, 1); standard normal


def draw(
    distribution: str, dtype: torch.dtype, rows: int, cols: int, seed: int, device: torch.device
) -> torch.Tensor:
    """x of shape (rows, cols). Drawn in float32 and rounded, so that all dtypes see one matrix.

    Bit-identical for the same arguments on the same kind of device.
    """
    generator = torch.Generator(device).manual_seed(seed)
    x = _DRAW[distribution](rows, cols, generator=generator, device=device, dtype=torch.float32)
    return x.to(dtype)
