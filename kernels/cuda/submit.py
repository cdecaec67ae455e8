"""Launch a loaded kernel by one call of the CUDA driver.

``cuLaunchKernelEx`` reads its arguments from memory. That memory is laid out once for a kernel, and
a call writes only what changes: the grid, the stream and the arguments. Host: such a call costs
0.5 µs beside the driver's own time, cuda-core's 1 µs, Triton's 16 µs (measured on an H100 machine).
"""

import ctypes
import functools
from collections.abc import Callable
from ctypes import c_uint, c_void_p

import torch
from cuda.bindings import driver
from cuda.core import Device

from . import grid_workspace
from .driver import checked
from .plan import LaunchPlan

NO_CONTEXT = int(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT)
COOPERATIVE = int(driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
CLUSTER = int(driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)

# Triton and torch's own compiler get the stream in this way, too. It takes 0.1 µs, where
# torch.cuda.current_stream() builds an object in 4 µs (measured on an H200 machine).
_raw_stream = getattr(
    torch._C,
    "_cuda_getCurrentRawStream",
    lambda device: torch.cuda.current_stream(device).cuda_stream,
)


class LaunchAttribute(ctypes.Structure):
    """Lay out CUlaunchAttribute of cuda.h; its value has up to 64 bytes."""

    _fields_ = [("id", c_uint), ("padding", c_uint), ("value", c_uint * 16)]


class LaunchConfig(ctypes.Structure):
    """Lay out CUlaunchConfig of cuda.h."""

    _fields_ = [("grid_x", c_uint), ("grid_yz", c_uint * 2), ("block", c_uint * 3)]
    _fields_ += [
        ("shared_bytes", c_uint),
        ("stream", c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("count", c_uint),
    ]


@functools.cache
def _driver_launch() -> Callable[..., int]:
    """Return the driver's ``cuLaunchKernelEx``, which releases Python's lock."""
    function = ctypes.CDLL("libcuda.so.1").cuLaunchKernelEx
    function.argtypes = [c_void_p] * 4
    return function


@functools.cache
def _memory_of(
    kernel: int, threads: int, cluster: int, cooperative: bool
) -> tuple[list[tuple], Callable[[int], tuple]]:
    """Return the memory that no launch of a kernel uses, and a function that allocates more.

    All shapes share it, because it takes 4 µs to lay out (measured on a CPU).
    """
    asked = [(CLUSTER, 0, (cluster, 1, 1))] * (cluster > 1)
    asked += [(COOPERATIVE, 0, (1,))] * cooperative
    attributes = (LaunchAttribute * len(asked))(*asked)

    def allocate(count: int) -> tuple:
        """Return memory for a launch with ``count`` arguments, and addresses in it."""
        # the kernel reads as many bytes of each as its type has; the first is the lowest
        values = (ctypes.c_int64 * count)()
        begin = ctypes.addressof(values)
        pointers = (c_void_p * count)(*range(begin, begin + 8 * count, 8))
        config = LaunchConfig(1, (1, 1), (threads, 1, 1), 0, None, attributes, len(attributes))
        return values, pointers, config, ctypes.addressof(config), ctypes.addressof(pointers)

    return [], allocate


def submitter(kernel: int, plan: LaunchPlan, blocks: int, device: int) -> Callable[..., None]:
    """Return ``launch(*arguments)``, which launches a kernel on the device's current stream.

    ``kernel`` is the driver's handle, and ``blocks`` counts clusters if the kernel has clusters.
    Every call gives the arguments before ``plan.extra_args``, and the device is the current one. A
    call writes to memory that no other call has at that time, so threads need no lock. It raises
    RuntimeError with the driver's error name.
    """
    grid, shared_bytes = blocks * plan.cluster, plan.shared_bytes
    shares_rows, extra = plan.row_blocks > 0, plan.extra_args
    driver_launch = _driver_launch()
    free, allocate = _memory_of(kernel, plan.threads, plan.cluster, shares_rows)

    def launch(*arguments: int) -> None:
        stream = _raw_stream(device)
        if shares_rows:
            arguments += (grid_workspace.address(device, stream),)
        if extra:
            arguments += extra
        try:
            memory = free.pop()
        except IndexError:  # all are in use
            memory = allocate(len(arguments))
        values, _, config, at, pointers_at = memory
        values[:] = arguments
        config.grid_x, config.shared_bytes, config.stream = grid, shared_bytes, stream
        error = driver_launch(at, kernel, pointers_at, None)
        if error == NO_CONTEXT:  # in a thread that never used the GPU
            Device(device).set_current()
            error = driver_launch(at, kernel, pointers_at, None)
        free.append(memory)
        if error:
            checked((driver.CUresult(error),))

    return launch
