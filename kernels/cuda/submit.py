"""Launch a loaded kernel with a single call of the CUDA driver, ``cuLaunchKernelEx``.

The driver reads the launch and its arguments from memory, which is laid out once; a call rewrites
only what changes. Host time besides the driver's own: 0.7 µs if three arguments change, 0.9 µs if
all may, of which ctypes takes 0.3 µs (measured on a CPU, with an empty C function as the driver).
"""

import ctypes
import functools
import struct
from collections.abc import Callable

import torch
from cuda.bindings import driver
from cuda.core import Device

from . import grid_workspace
from .driver import checked
from .plan import LaunchPlan

NO_CONTEXT = int(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT)
COOPERATIVE = int(driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
CLUSTER = int(driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)

# Memory layouts, as in cuda.h. CUlaunchConfig: grid, block, bytes of shared memory, stream, address
# and number of the attributes. CUlaunchAttribute: its id and a value of up to 64 bytes.
CONFIG = struct.Struct("7I4xQQI4x")
ATTRIBUTE = struct.Struct("I4x3I52x")
# A call rewrites the CUlaunchConfig from the stream on, and the arguments that follow it.
STREAM_AT = struct.calcsize("7I4x")
PACK_BOUND = struct.Struct("3Q3q").pack_into

# Triton and torch's own compiler also get the stream in this way. It takes 0.1 µs, while
# torch.cuda.current_stream() takes 4 µs to build an object (measured on an H200's host).
_raw_stream = getattr(
    torch._C,
    "_cuda_getCurrentRawStream",
    lambda device: torch.cuda.current_stream(device).cuda_stream,
)


@functools.cache
def _driver_launch() -> Callable[..., int]:
    """Return the driver's ``cuLaunchKernelEx``, a ctypes function that releases the GIL.

    It declares no argument types, so ctypes passes on what ``byref`` and ``from_param`` return;
    converting four integers would take 0.1 µs more.
    """
    return ctypes.CDLL("libcuda.so.1").cuLaunchKernelEx


@functools.cache  # also keeps the memory alive
def _attributes(cluster: int, cooperative: bool) -> ctypes.Array:
    """Return the launch attributes of a kernel."""
    asked = [(CLUSTER, cluster, 1, 1)] * (cluster > 1) + [(COOPERATIVE, 1, 0, 0)] * cooperative
    attributes = b"".join(ATTRIBUTE.pack(*attribute) for attribute in asked)
    return (ctypes.c_char * len(attributes)).from_buffer_copy(attributes)


def submitter(kernel: int, plan: LaunchPlan, blocks: int, device: int) -> Callable[..., None]:
    """Return ``launch(*arguments)``, which launches a kernel on the device's current stream.

    ``kernel`` is the driver's handle; ``blocks`` counts clusters if the kernel has clusters. A call
    passes the kernel's arguments up to ``plan.extra_args``; ``device`` must be the current one.
    Each call writes to memory that no concurrent call uses, so threads need no lock. It raises
    RuntimeError with the driver's error name.

    ``launch.bind(*rest)`` returns a faster ``launch(a, b, c)``, for repeated calls with the same
    arguments from the fourth on.
    """
    driver_launch, handle = _driver_launch(), ctypes.c_void_p.from_param(kernel)
    cooperative, extra = plan.row_blocks > 0, plan.extra_args
    needs_workspace = cooperative or plan.uses_workspace
    attributes = _attributes(plan.cluster, cooperative)
    attributes_at, attribute_count = ctypes.addressof(attributes), len(attributes) // ATTRIBUTE.size
    sizes = blocks * plan.cluster, 1, 1, plan.threads, 1, 1, plan.shared_bytes
    config = (*sizes, 0, attributes_at, attribute_count)

    def allocate(arguments: tuple[int, ...]) -> tuple:
        """Return memory laid out for a launch, and pointers into it for the driver.

        A CUlaunchConfig comes first, then the arguments, 8 bytes each, then their addresses. The
        kernel reads as many bytes of an argument as its type has, from the lowest one on.
        """
        count = len(arguments)
        end = CONFIG.size + 8 * count
        memory = (ctypes.c_char * (end + 8 * count))()
        begin = ctypes.addressof(memory) + CONFIG.size
        CONFIG.pack_into(memory, 0, *config)
        addresses = range(begin, begin + 8 * count, 8)
        struct.pack_into(f"{count}q{count}Q", memory, CONFIG.size, *arguments, *addresses)
        return memory, ctypes.byref(memory), ctypes.byref(memory, end)

    def recover(error: int, config_at: object, pointers_at: object) -> None:
        """Launch again if this thread had not used the GPU yet; raise for any other error."""
        if error == NO_CONTEXT:
            Device(device).set_current()
            error = driver_launch(config_at, handle, pointers_at, None)
        if error:
            checked((driver.CUresult(error),))

    unused, pack = [], None

    def launch(*arguments: int) -> None:
        nonlocal pack
        stream = _raw_stream(device)
        if needs_workspace:
            arguments += (grid_workspace.address(device, stream),)
        arguments += extra
        try:
            memory, config_at, pointers_at = taken = unused.pop()
        except IndexError:  # other threads are using all of it
            memory, config_at, pointers_at = taken = allocate(arguments)
            pack = struct.Struct(f"3Q{len(arguments)}q").pack_into
        begin = memory, STREAM_AT, stream, attributes_at, attribute_count
        pack(*(begin + arguments))  # `pack(*begin, *arguments)` would build a list first
        if error := driver_launch(config_at, handle, pointers_at, None):
            recover(error, config_at, pointers_at)
        unused.append(taken)

    def bind(*values: int) -> Callable[[int, int, int], None]:
        if needs_workspace:  # the workspace depends on the stream of each call
            return lambda a, b, c: launch(a, b, c, *values)
        arguments = (0, 0, 0, *values, *extra)
        unused = []

        def bound(a: int, b: int, c: int) -> None:
            try:
                memory, config_at, pointers_at = taken = unused.pop()
            except IndexError:
                memory, config_at, pointers_at = taken = allocate(arguments)
            stream = _raw_stream(device)
            PACK_BOUND(memory, STREAM_AT, stream, attributes_at, attribute_count, a, b, c)
            if error := driver_launch(config_at, handle, pointers_at, None):
                recover(error, config_at, pointers_at)
            unused.append(taken)

        return bound

    launch.bind = bind
    return launch
