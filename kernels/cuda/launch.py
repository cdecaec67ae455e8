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

from ..contract import OLDEST
from ..tensors import empty_output
from . import grid_workspace
from .nvrtc import (
    PORTABLE_CLUSTER,
    TYPES,
    Call,
    Gpu,
    LaunchPlan,
    Planner,
    build_once,
    call_of,
    widest_pack,
)

MAX_CACHED = 4096  # launches

# Triton and torch's own compiler get the stream in this way, too. It takes 0.1 µs, where
# torch.cuda.current_stream() builds an object in 4 µs (measured on an H200 machine).
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # None in a build without CUDA


class LoadedLaunch(NamedTuple):
    """A kernel that is loaded on a device, and how it is launched for one shape."""

    kernel: Kernel
    config: LaunchConfig
    spec: LaunchPlan
    blocks_per_sm: int

    def extra_args(self, device: int, stream: int) -> tuple[int, ...]:
        """Return the arguments after those that every kernel has."""
        if self.spec.cooperative:
            return (grid_workspace.address(device, stream), *self.spec.extra_args)
        return self.spec.extra_args


# What decides a launch: plan, dtype, rows, cols, pack, log, device. It is a plain tuple, because a
# NamedTuple takes 0.2 µs more to create, in every call. Only this module creates keys.
Key = tuple["Planner", torch.dtype, int, int, int, bool, int]

_ready: dict[Key, LoadedLaunch] = {}


class _Streams(threading.local):
    """Wrap torch's streams for cuda-core, once in each thread that launches.

    A new thread has no CUDA context, so each thread enters a device by itself. The cache is
    thread-local, not keyed by thread id, because ids are used again.
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
    plan: Planner, x: torch.Tensor, out: torch.Tensor | None, log: bool = False
) -> torch.Tensor:
    """Launch what ``plan`` chooses for x (M, N). Return ``out``, or a new tensor.

    Raises ValueError when no kernel of this algorithm takes x, and cuda-core's errors. The caller
    must not pass what ``kernels.Variant.unsupported`` refuses, nor an ``out`` unlike x: checks
    here would cost a tenth of the call.
    """
    out = empty_output(x, out)
    launch_rows(plan, x, out, *x.shape, x.stride(0), out.stride(0), log)
    return out


def launch_rows(
    plan: Planner,
    x: torch.Tensor,
    out: torch.Tensor,
    rows: int,
    cols: int,
    x_stride: int,
    out_stride: int,
    log: bool = False,
) -> None:
    """Launch as ``run`` on tensors of any rank that have the memory layout of such matrices.

    Shape and strides are numbers, because each view would cost the host 0.8 µs. x may be out.
    """
    x_address, out_address = x.data_ptr(), out.data_ptr()
    device = x.get_device()
    if device != torch.cuda.current_device():
        if problem := why_no_gpu(x):
            raise ValueError(problem)
        with torch.cuda.device(device):
            return launch_rows(plan, x, out, rows, cols, x_stride, out_stride, log)
    pack = widest_pack(x.element_size(), x_address | out_address, x_stride | out_stride | cols)
    key = (plan, x.dtype, rows, cols, pack, log, device)
    ready = _ready.get(key) or _prepare(key)
    handle = _raw_stream(device)
    stream = _streams.known.get((device, handle)) or _streams.enter(device, handle)
    launch(
        stream,
        ready.config,
        ready.kernel,
        *(out_address, x_address, out_stride, x_stride, rows, cols),
        *ready.extra_args(device, handle),
    )


def launch_with(
    arguments: tuple[int, ...],
    plan: Planner,
    dtype: torch.dtype,
    rows: int,
    cols: int,
    pack: int,
    log: bool,
    device: int,
) -> None:
    """Launch a kernel with these ``arguments`` on ``device``, the current one.

    The others are a ``Key``. ``launch_rows`` repeats this body, because one more call there would
    cost the host more than the look-up. Raises as ``run``.
    """
    key = (plan, dtype, rows, cols, pack, log, device)
    ready = _ready.get(key) or _prepare(key)
    handle = _raw_stream(device)
    stream = _streams.known.get((device, handle)) or _streams.enter(device, handle)
    launch(stream, ready.config, ready.kernel, *arguments)


class Functions(NamedTuple):
    """The functions of a variant; see ``kernels.Variant``."""

    softmax: Callable
    log_softmax: Callable
    unsupported: Callable
    plan: Planner


@functools.cache  # one plan object for each config, because launches are cached by it
def functions(plan: Callable, config: str | None = None) -> Functions:
    """Return the functions of the kernel that ``plan(call)`` or ``plan(call, config)`` chooses."""
    of_config = functools.partial(plan, config=config) if config else plan

    def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """Return the row softmax of x (M, N); see ``kernels.Variant``."""
        return run(of_config, x, out)

    def log_softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """Return the row log-softmax of x (M, N); see ``kernels.Variant``."""
        return run(of_config, x, out, log=True)

    def unsupported(x: torch.Tensor) -> str | None:
        """Return None, or why this kernel cannot run x."""
        return why_unsupported(of_config, x)

    return Functions(softmax, log_softmax, unsupported, of_config)


def why_no_gpu(x: torch.Tensor, needed: tuple[int, int] = OLDEST) -> str | None:
    """Return None, or a sentence that says why x's device cannot run a CUDA C++ kernel."""
    if not x.is_cuda:
        return f"x is on the device {x.device}; an NVIDIA GPU and its driver are needed"
    capability = torch.cuda.get_device_capability(x.device)
    if capability < needed:
        have, need = (".".join(map(str, c)) for c in (capability, needed))
        return f"{x.device} has compute capability {have}; {need} or newer is needed"
    return None


def why_unsupported(plan: Planner, x: torch.Tensor) -> str | None:
    """Return None, or a sentence that says why ``plan`` has no kernel for x on its device."""
    if problem := why_no_gpu(x):
        return problem
    specs = plan(call_of(x, False, gpu_info(x.device)))
    if not specs:
        return f"N = {x.shape[1]}: the row is longer than this kernel can hold"
    return why_no_gpu(x, max(spec.min_capability for spec in specs))


def gpu_info(device: torch.device | int) -> Gpu:
    """Return the properties of a GPU that decide which kernel runs."""
    properties = torch.cuda.get_device_properties(device)
    return Gpu(
        properties.name,
        (properties.major, properties.minor),
        properties.shared_memory_per_block_optin,
        properties.multi_processor_count,
    )


def launched() -> list[LoadedLaunch]:
    """Return the launches that are cached, at most MAX_CACHED."""
    return list(_ready.values())


def _prepare(key: Key) -> LoadedLaunch:
    """Compile, load and cache the launch of a key. Raises as ``run``."""
    plan, dtype, rows, cols, pack, log, device = key
    if dtype not in TYPES:
        raise ValueError(f"x is {dtype}; allowed: {', '.join(map(str, TYPES))}")
    Device(device).set_current()
    specs = plan(Call(dtype, rows, cols, pack, log, gpu_info(device)))
    if not specs:
        raise ValueError(f"no kernel of this algorithm takes rows of N = {cols} on cuda:{device}")
    kernels = [_load(spec, device) for spec in specs]
    resident = [_resident(*pair) for pair in zip(kernels, specs, strict=True)]
    # The largest block that costs no resident block: more threads for as many rows.
    best = max(i for i, blocks in enumerate(resident) if blocks == resident[0])
    spec = specs[best]
    config = _config(spec, _blocks(kernels[best], spec, resident[best], device))
    if len(_ready) >= MAX_CACHED:
        _ready.clear()
    ready = _ready[key] = LoadedLaunch(kernels[best], config, spec, resident[best])
    return ready


def _config(spec: LaunchPlan, blocks: int) -> LaunchConfig:
    """Return the configuration; ``blocks`` counts clusters if the kernel has clusters."""
    return LaunchConfig(
        grid=blocks,
        block=spec.threads,
        shmem_size=spec.shared_bytes,
        is_cooperative=spec.cooperative,
        **({"cluster": spec.cluster} if spec.cluster > 1 else {}),
    )


def _load(spec: LaunchPlan, device: int) -> Kernel:
    kernel = _kernel(spec.source, spec.kernel, device)
    if spec.shared_bytes:
        _allow_shared(kernel, device)
    if spec.cluster > PORTABLE_CLUSTER:
        _allow_cluster(kernel, device)
    return kernel


# A kernel has a few hundred instances at most, so these caches need no bound.
@functools.cache
def _kernel(source: str, name: str, device: int) -> Kernel:
    major, minor = torch.cuda.get_device_capability(device)
    return build_once(source, name, f"sm_{major}{minor}").get_kernel(name)


@functools.cache
def _allow_shared(kernel: Kernel, device: int) -> None:
    """Allow blocks all shared memory of the device; the default limit is 48 KiB."""
    limit = gpu_info(device).max_shared_per_block - kernel.attributes.shared_size_bytes
    attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    _set(kernel, attribute, limit, device)


@functools.cache
def _allow_cluster(kernel: Kernel, device: int) -> None:
    """Allow clusters larger than PORTABLE_CLUSTER."""
    attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    _set(kernel, attribute, 1, device)


def _set(kernel: Kernel, attribute, value: int, device: int) -> None:
    (error,) = driver.cuKernelSetAttribute(attribute, value, kernel.handle, driver.CUdevice(device))
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"cuKernelSetAttribute: {error.name}")


def _resident(kernel: Kernel, spec: LaunchPlan) -> int:
    occupancy = kernel.occupancy
    return occupancy.max_active_blocks_per_multiprocessor(spec.threads, spec.shared_bytes)


def _blocks(kernel: Kernel, spec: LaunchPlan, resident: int, device: int) -> int:
    """Return the blocks of a launch, or its clusters if the kernel has clusters."""
    gpu = torch.cuda.get_device_properties(device)
    if spec.resident and spec.cluster > 1:
        return min(spec.blocks, _clusters(kernel, spec, device))
    if spec.resident:
        return min(spec.blocks, resident * gpu.multi_processor_count)
    if spec.waves is None:
        return spec.blocks
    wave = gpu.multi_processor_count * gpu.max_threads_per_multi_processor // spec.threads
    return min(spec.blocks, spec.waves * wave)


def _clusters(kernel: Kernel, spec: LaunchPlan, device: int) -> int:
    """Return how many clusters are resident at once."""
    config, stream = _config(spec, spec.cluster), Device(device).default_stream
    return kernel.occupancy.max_active_clusters(config, stream=stream)
