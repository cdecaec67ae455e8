"""Logits and indices that the tests of the library's functions of logits draw."""

import torch


def draw_logits(
    *shape: int, dtype=torch.float32, device="cpu", count: int | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return logits and one index for each row, or ``count`` of them in a further dimension."""
    generator = torch.Generator().manual_seed(shape[-1])
    x = 4 * torch.randn(shape, generator=generator)
    index_shape = shape[:-1] if count is None else (*shape[:-1], count)
    index = torch.randint(shape[-1], index_shape, generator=generator)
    return x.to(device, dtype), index.to(device)
