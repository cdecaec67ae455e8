"""Make sure that the baseline is plain ATen: the kernels that torch itself was built with.

torch 2.12 and newer override operators of ATen by kernels in Triton or CuTe DSL (torch._native) if
the packages for these are installed, and so may plugins that torch loads automatically. Then the
same version of torch would be different baselines on different machines.
"""

import torch

from operations import Operation

from ..device.opened import Device
from ..errors import NoRowError

OWN = ("aten/src/ATen/", "torch/csrc/autograd/")  # files that register torch's own kernels


def columns(device: Device, operation: Operation) -> dict:
    """Disable torch's overrides in this process; return the row's column that says so.

    They are disabled for all operators, because a kernel of ATen may call others. Raises NoRowError
    if an operator of the baseline still dispatches to a kernel that is not torch's own.
    """
    state = _disable_overrides()
    for name in operation.aten:
        if place := _registered_elsewhere(name, device.torch_device.type.upper()):
            raise NoRowError(
                f"the baseline is not plain ATen: torch dispatches aten::{name} to a kernel "
                f"registered at {place}; measure in an environment without what registers it"
            )
    return {"native_overrides": state}


def _disable_overrides() -> str:
    overrides = getattr(torch.backends, "python_native", None)
    if overrides is None:
        return "absent"
    overrides.disable_dispatch_keys("CPU", "CUDA")
    return "disabled"


def _registered_elsewhere(name: str, backend: str) -> str | None:
    """Return the file and line that registered a kernel that is not torch's own, or None."""
    for line in torch._C._dispatch_dump_table(f"aten::{name}").splitlines():
        key, _, place = line.partition(": registered at ")
        if key in (backend, f"Autograd{backend}") and not any(own in place for own in OWN):
            return place.partition(" [")[0]
    return None
