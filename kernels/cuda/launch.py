"""Launching the kernels of kernels/cuda/ on torch's tensors and torch's current stream.

A first call compiles and loads; what it found is kept, so that every later call of the same shape
costs one look-up and one launch.
"""

import functools
import threading
from collections.abc import Callable
from typing import NamedTuple

import torch
from cuda.bindings import driver
from cuda.core import Device, Kernel, LaunchConfig, Stream, launch

from ..tensors import empty_output
from . import grid_workspace
from .nvrtc import (
    OLDEST,
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

MAX_BLOCKS = 2**31 - 1  # of a launch, in x
MAX_KEPT = 4096  # shapes whose launch is remembered

# Triton and torch's own compiler ask for the stream in this way too: torch.cuda.current_stream()
# builds an object for 4 µs, this takes 0.1 µs (measured on an H200 machine).
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # None in a build without CUDA


class LoadedLaunch(NamedTuple):
    """A kernel on a device, and how it is launched for one shape."""

    kernel: Kernel
    config: LaunchConfig
    spec: LaunchPlan
    blocks_per_sm: int

    def more(self, device: int, stream: int) -> tuple[int, ...]:
        """Arguments after those that every kernel has."""
        if self.spec.cooperative:
            return (grid_workspace.address(device, stream), *self.spec.extra_args)
        return self.spec.extra_args


_ready: dict[tuple, LoadedLaunch] = {}


class _Streams(threading.local):
    """cuda-core's view of torch's streams, made once in each thread that launches.

    By thread, because a thread that has not yet worked on a device has no CUDA context there, and
    only the thread's own end may forget that it has one: numbers of threads are used again.
    """

    def __init__(self):
        self.known: dict[tuple[int, int], Stream] = {}

    def enter(self, device: int, handle: int) -> Stream:
        """Make torch's context this thread's own, and wrap a stream of it."""
        Device(device).set_current()
        if len(self.known) >= MAX_KEPT:
            self.known.clear()
        stream = self.known[device, handle] = Stream.from_handle(handle)
        return stream


_streams = _Streams()


def run(
    plan: Planner, x: torch.Tensor, out: torch.Tensor | None, log: bool = False
) -> torch.Tensor:
    """Launch what ``plan`` chooses for x (M, N); returns ``out``, or a new tensor.

    Raises ValueError when no kernel of this algorithm can take x, and cuda-core's errors. What
    ``kernels.Variant.unsupported`` refuses, and an ``out`` unlike x, must not come here: a look at
    each would cost a tenth of the call.
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
    """As ``run``, of tensors of any rank that lie in memory as such matrices do.

    In numbers, because each view would cost the host 0.8 µs. x may be out.
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
        *ready.more(device, handle),
    )


def launch_with(key: tuple, arguments: tuple[int, ...]) -> None:
    """Launch a kernel that takes other arguments than x, out and their strides.

    ``key``: plan and what a Call has, with the number of the device, the current one, in the
    GPU's place. What ``launch_rows`` does by itself: one more call there would cost the host more
    than the look-up. Raises as ``run``.
    """
    ready, device = _ready.get(key) or _prepare(key), key[-1]
    handle = _raw_stream(device)
    stream = _streams.known.get((device, handle)) or _streams.enter(device, handle)
    launch(stream, ready.config, ready.kernel, *arguments)


class Functions(NamedTuple):
    """What a variant is made of; see ``kernels.Variant``."""

    softmax: Callable
    log_softmax: Callable
    unsupported: Callable
    plan: Planner


@functools.cache  # one object for each config, by which its launches are remembered
def functions(plan: Callable, config: str | None = None) -> Functions:
    """The functions of a kernel, by ``plan(call)``; in a config, ``plan(call, config)``."""
    of_config = functools.partial(plan, config=config) if config else plan

    def softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """Row softmax of x (M, N); see ``kernels.Variant``."""
        return run(of_config, x, out)

    def log_softmax(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """Row log-softmax of x (M, N); see ``kernels.Variant``."""
        return run(of_config, x, out, log=True)

    def unsupported(x: torch.Tensor) -> str | None:
        """None, or why this kernel cannot run x."""
        return why_unsupported(of_config, x)

    return Functions(softmax, log_softmax, unsupported, of_config)


def why_no_gpu(x: torch.Tensor, needed: tuple[int, int] = OLDEST) -> str | None:
    """None, or a sentence: what x's device lacks to run CUDA C++ of a compute capability."""
    if not x.is_cuda:
        return f"x is on the device {x.device}; an NVIDIA GPU and its driver are needed"
    capability = torch.cuda.get_device_capability(x.device)
    if capability < needed:
        have, need = (".".join(map(str, c)) for c in (capability, needed))
        return f"{x.device} has compute capability {have}; {need} or newer is needed"
    return None


def why_unsupported(plan: Planner, x: torch.Tensor) -> str | None:
    """None, or a sentence: that x's device, or this algorithm, cannot take rows as long as x's."""
    if problem := why_no_gpu(x):
        return problem
    specs = plan(call_of(x, False, gpu_info(x.device)))
    if not specs:
        return f"N = {x.shape[1]}: longer rows than this kernel can hold"
    return why_no_gpu(x, max(spec.min_capability for spec in specs))


def gpu_info(device: torch.device | int) -> Gpu:
    """What of a GPU decides which kernel runs."""
    found = torch.cuda.get_device_properties(device)
    capability = found.major, found.minor
    return Gpu(
        found.name,
        capability,
        found.shared_memory_per_block_optin,
        found.multi_processor_count,
    )


def launched() -> list[LoadedLaunch]:
    """The kernels that were launched for the last MAX_KEPT shapes or fewer."""
    return list(_ready.values())


def _prepare(key: tuple) -> LoadedLaunch:
    plan, dtype, rows, cols, pack, log, device = key
    if dtype not in TYPES:
        raise ValueError(f"x is {dtype}; allowed: {', '.join(map(str, TYPES))}")
    Device(device).set_current()
    specs = plan(Call(dtype, rows, cols, pack, log, gpu_info(device)))
    if not specs:
        raise ValueError(f"no kernel of this algorithm takes rows of N = {cols} on cuda:{device}")
    kernels = [_load(spec, device) for spec in specs]
    resident = [_resident(*pair) for pair in zip(kernels, specs, strict=True)]
    # Of several block sizes the largest that costs no resident block: more threads, same rows.
    best = max(i for i, blocks in enumerate(resident) if blocks == resident[0])
    spec = specs[best]
    config = _config(spec, _blocks(kernels[best], spec, resident[best], device))
    if len(_ready) >= MAX_KEPT:
        _ready.clear()
    ready = _ready[key] = LoadedLaunch(kernels[best], config, spec, resident[best])
    return ready


def _config(spec: LaunchPlan, blocks: int) -> LaunchConfig:
    """``blocks``: or clusters, where there are such."""
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


# A kernel has a few hundred configs at most, so these two need no bound.
@functools.cache
def _kernel(source: str, name: str, device: int) -> Kernel:
    major, minor = torch.cuda.get_device_capability(device)
    return build_once(source, name, f"sm_{major}{minor}").get_kernel(name)


@functools.cache
def _allow_shared(kernel: Kernel, device: int) -> None:
    """Let blocks have all shared memory that the device offers; without asking it is 48 KiB."""
    most = gpu_info(device).max_shared_per_block - kernel.attributes.shared_size_bytes
    attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    _set(kernel, attribute, most, device)


@functools.cache
def _allow_cluster(kernel: Kernel, device: int) -> None:
    """Let a cluster have more blocks than every GPU that has clusters must offer."""
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
    """Blocks of a launch, or clusters, where there are such."""
    gpu = torch.cuda.get_device_properties(device)
    if spec.resident and spec.cluster > 1:
        return min(spec.blocks, _clusters(kernel, spec, device))
    if spec.resident:
        return min(spec.blocks, resident * gpu.multi_processor_count)
    if spec.waves is None:
        return spec.blocks
    full = gpu.multi_processor_count * gpu.max_threads_per_multi_processor // spec.threads
    return min(spec.blocks, spec.waves * full)


def _clusters(kernel: Kernel, spec: LaunchPlan, device: int) -> int:
    """Clusters that are resident at once."""
    config, stream = _config(spec, spec.cluster), Device(device).default_stream
    return kernel.occupancy.max_active_clusters(config, stream=stream)
