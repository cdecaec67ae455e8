"""Set as much of L2 aside for lines that persist as it may, and leave torch the rest."""

import torch
from cuda.bindings import driver

MOST = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE


def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    (error, most) = driver.cuDeviceGetAttribute(MOST, x.device.index)
    assert error == driver.CUresult.CUDA_SUCCESS
    (error,) = driver.cuCtxSetLimit(driver.CUlimit.CU_LIMIT_PERSISTING_L2_CACHE_SIZE, most)
    assert error == driver.CUresult.CUDA_SUCCESS
    return torch.softmax(x, dim=-1, out=out)
