"""Launch CUDA C++ kernels on torch's tensors and torch's current stream.

The first call of a shape compiles and loads the kernel. Every later call of that shape costs one
look-up and one launch.
"""

import functools
import threading
from collections.abc import Callable
from typing import NamedTuple

import torch
from cuda.bindings import driver
from cuda.core import Device, Kernel, LaunchConfig, Stream, launch

from ..contract import MAX_BLOCKS, MIN_CAPABILITY
from ..tensors import empty_output
from . import grid_workspace
from .driver import checked
from .nvrtc import build_once
from .plan import (
    GPUS,
    PORTABLE_CLUSTER,
    TYPES,
    GpuProperties,
    LaunchPlan,
    Planner,
    Problem,
    problem_of,
    widest_pack,
)

MAX_CACHED = 4096  # launches
TOO_LONG = "the row is longer than this kernel can hold"

# Triton and torch's own compiler get the stream in this way, too. It takes 0.1 µs, where
# torch.cuda.current_stream() builds an object in 4 µs (measured on an H200 machine).
_raw_stream = getattr(
    torch._C,
    "_cuda_getCurrentRawStream",
    lambda device: torch.cuda.current_stream(device).cuda_stream,
)


class LoadedLaunch(NamedTuple):
    """A kernel that is loaded on a device, and how it is launched for one shape."""

    kernel: Kernel
    config: LaunchConfig
    plan: LaunchPlan
    blocks_per_sm: int


class Key(NamedTuple):
    """What decides a launch. Callers give an equal plain tuple, which takes 0.2 µs less a call."""

    planner: Planner
    dtype: torch.dtype
    rows: int
    cols: int
    pack: int
    log: bool
    device: int


_loaded: dict[Key, LoadedLaunch] = {}


class _Streams(threading.local):
    """Wrap torch's streams for cuda-core, once in each thread that launches.

    A new thread has no CUDA context, so each thread enters a device by itself.
    """

    def __init__(self):
        self.known: dict[tuple[int, int], Stream] = {}

    def enter(self, device: int, handle: int) -> Stream:
        """Make torch's context current in this thread, and wrap one of its streams."""
        Device(device).set_current()
        if len(self.known) >= MAX_CACHED:
            self.known.clear()
        stream = self.known[device, handle] = Stream.from_handle(handle)
        return stream


_streams = _Streams()


def run(
    planner: Planner, x: torch.Tensor, out: torch.Tensor | None = None, *, log: bool = False
) -> torch.Tensor:
    """Launch what ``planner`` chooses for x (M, N). Return ``out``, or a new tensor.

    Raises ValueError when no kernel takes x, and cuda-core's errors. The caller must not pass what
    ``Variant.unsupported`` refuses, nor an ``out`` unlike x: checks would cost a tenth of the call.
    """
    out = empty_output(x, out)
    launch_rows(planner, x, out, *x.shape, x.stride(0), out.stride(0), log)
    return out


def launch_rows(
    planner: Planner,
    x: torch.Tensor,
    out: torch.Tensor,
    rows: int,
    cols: int,
    x_stride: int,
    out_stride: int,
    log: bool = False,
) -> None:
    """Launch as ``run`` on tensors of any rank that have the memory layout of such matrices.

    Shape and strides are numbers, because each view would cost the host 0.8 µs.
    """
    device = x.get_device()
    if device != torch.cuda.current_device():
        if reason := why_no_gpu(x):
            raise ValueError(reason)
        with torch.cuda.device(device):
            return launch_rows(planner, x, out, rows, cols, x_stride, out_stride, log)
    addresses = out.data_ptr(), x.data_ptr()
    counts = x_stride | out_stride | cols
    pack = widest_pack(x.element_size(), addresses[0] | addresses[1], counts)
    key = (planner, x.dtype, rows, cols, pack, log, device)
    launch_with(key, (*addresses, out_stride, x_stride, rows, cols))


def launch_with(key: Key | tuple, arguments: tuple[int, ...]) -> None:
    """Launch the kernel of a key with these arguments; its device is the current one.

    Raises as ``run``.
    """
    loaded = _loaded.get(key) or _prepare(Key(*key))
    device = key[-1]
    handle = _raw_stream(device)
    stream = _streams.known.get((device, handle)) or _streams.enter(device, handle)
    if loaded.plan.row_blocks:
        arguments = *arguments, grid_workspace.address(device, handle)
    launch(stream, loaded.config, loaded.kernel, *arguments, *loaded.plan.extra_args)


class Functions(NamedTuple):
    """The functions of a variant; see ``kernels.Variant``."""

    softmax: Callable
    log_softmax: Callable
    unsupported: Callable


class Config(NamedTuple):
    """The functions of a variant in one config, and their planner."""

    softmax: Callable
    log_softmax: Callable
    unsupported: Callable
    plan: Planner


def functions(planner: Planner, limit: str = TOO_LONG) -> Functions:
    """Return the functions of the kernels that ``planner`` chooses.

    ``limit`` says why there is no plan for a length of row.
    """
    softmax, log_softmax = (functools.partial(run, planner, log=log) for log in (False, True))

    def unsupported(x: torch.Tensor) -> str | None:
        """Return None, or why this kernel cannot run x."""
        # a limit is said without a GPU, too: then an H200's
        gpu = gpu_info(x.device) if x.is_cuda else GPUS["sm_90"]
        plans = planner(problem_of(x, False, gpu))
        if not plans:
            return f"N = {x.shape[1]}: {limit}"
        blocks = max(plan.blocks * plan.cluster for plan in plans)
        if blocks > MAX_BLOCKS and plans[0].waves is None:
            return f"M = {x.shape[0]}: it takes {blocks} blocks; a launch has at most 2^31 - 1"
        return why_no_gpu(x, max(plan.min_capability for plan in plans))

    return Functions(softmax, log_softmax, unsupported)


@functools.cache  # one planner for each config, because launches are cached by it
def configured(plan: Callable, config: str) -> Config:
    """Return the functions of the kernels that ``plan(problem, config)`` chooses."""
    planner = functools.partial(plan, config=config)
    return Config(*functions(planner), planner)


def why_no_gpu(x: torch.Tensor, needed: tuple[int, int] = MIN_CAPABILITY) -> str | None:
    """Return None, or a sentence that says why x's device cannot run a CUDA C++ kernel."""
    if not x.is_cuda:
        return f"x is on the device {x.device}; an NVIDIA GPU and its driver are needed"
    capability = torch.cuda.get_device_capability(x.device)
    if capability < needed:
        have, need = (".".join(map(str, c)) for c in (capability, needed))
        return f"{x.device} has compute capability {have}; {need} or newer is needed"
    return None


def gpu_info(device: torch.device | int) -> GpuProperties:
    """Return the properties of a GPU that decide which kernel runs."""
    properties = torch.cuda.get_device_properties(device)
    return GpuProperties(
        properties.name,
        (properties.major, properties.minor),
        properties.shared_memory_per_block_optin,
        properties.multi_processor_count,
    )


def launched() -> list[LoadedLaunch]:
    """Return the launches that are cached, at most MAX_CACHED."""
    return list(_loaded.values())


def _prepare(key: Key) -> LoadedLaunch:
    """Compile, load and cache the launch of a key. Raises as ``run``."""
    device = key.device
    if key.dtype not in TYPES:
        raise ValueError(f"x is {key.dtype}; allowed: {', '.join(map(str, TYPES))}")
    Device(device).set_current()
    plans = key.planner(Problem(key.dtype, key.rows, key.cols, key.pack, key.log, gpu_info(device)))
    if not plans:
        raise ValueError(f"N = {key.cols}: {TOO_LONG}, on cuda:{device}")
    kernels = [_load(plan, device) for plan in plans]
    resident = [
        kernel.occupancy.max_active_blocks_per_multiprocessor(plan.threads, plan.shared_bytes)
        for kernel, plan in zip(kernels, plans, strict=True)
    ]
    # The largest block that costs no resident block: more threads for as many rows.
    best = max(i for i, blocks in enumerate(resident) if blocks == resident[0])
    kernel, plan, blocks_per_sm = kernels[best], plans[best], resident[best]
    config = LaunchConfig(
        grid=_blocks(plan, blocks_per_sm, device),
        block=plan.threads,
        shmem_size=plan.shared_bytes,
        is_cooperative=plan.row_blocks > 0,
        **({"cluster": plan.cluster} if plan.cluster > 1 else {}),
    )
    if len(_loaded) >= MAX_CACHED:
        _loaded.clear()
    loaded = _loaded[key] = LoadedLaunch(kernel, config, plan, blocks_per_sm)
    return loaded


def _load(plan: LaunchPlan, device: int) -> Kernel:
    """Return the plan's kernel, allowed all shared memory and the cluster that it asks for."""
    kernel = _kernel(plan.source, plan.kernel, device)
    if plan.shared_bytes:  # more than 48 KiB must be allowed
        limit = gpu_info(device).max_shared_per_block - kernel.attributes.shared_size_bytes
        _set(kernel, device, "MAX_DYNAMIC_SHARED_SIZE_BYTES", limit)
    if plan.cluster > PORTABLE_CLUSTER:
        _set(kernel, device, "NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)
    return kernel


# A kernel has a few hundred instances at most, so this cache needs no bound.
@functools.cache
def _kernel(source: str, name: str, device: int) -> Kernel:
    major, minor = torch.cuda.get_device_capability(device)
    return build_once(source, name, f"sm_{major}{minor}").get_kernel(name)


def _set(kernel: Kernel, device: int, name: str, value: int) -> None:
    attribute = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
    checked(driver.cuKernelSetAttribute(attribute, value, kernel.handle, driver.CUdevice(device)))


def _blocks(plan: LaunchPlan, blocks_per_sm: int, device: int) -> int:
    """Return the blocks of a launch, or its clusters if the kernel has clusters.

    Raises ValueError if the blocks that share a row are not resident at once.
    """
    gpu = torch.cuda.get_device_properties(device)
    if plan.row_blocks:
        resident = blocks_per_sm * gpu.multi_processor_count
        if resident < plan.row_blocks:
            raise ValueError(f"a row takes {plan.row_blocks} blocks; {resident} are resident")
        return min(plan.blocks, resident // plan.row_blocks * plan.row_blocks)
    if plan.waves is None:
        return plan.blocks
    wave = gpu.multi_processor_count * gpu.max_threads_per_multi_processor // plan.threads
    return min(plan.blocks, plan.waves * wave)
