"""Launch CUDA C++ kernels on torch's tensors and torch's current stream.

The first call of a shape plans the launch and compiles and loads its kernel. Every later call of
that shape costs one look-up and one launch. ``functions`` makes a variant's functions from a
planner; ``launch_rows`` is what the library calls.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from cuda.bindings import driver
from cuda.core import Device, Kernel

from ..contract import MAX_BLOCKS, MIN_CAPABILITY
from ..tensors import current_device, empty_output
from .driver import checked, outside_a_capture
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
    scale_alignment,
    widest_pack,
)
from .submit import submitter

MAX_CACHED = 4096  # launches kept by _loaded, at most
TOO_LONG = "the row is longer than this kernel can hold"


class LoadedLaunch(NamedTuple):
    """Hold a kernel that is loaded on a device, and its launch for one shape."""

    kernel: Kernel
    plan: LaunchPlan
    launch: Callable[..., None]  # made by ``submitter``

    @property
    def blocks_per_sm(self) -> int:
        return _resident(self.kernel, self.plan)


class Key(NamedTuple):
    """Hold everything that determines a launch.

    Callers pass an equal plain tuple instead, which takes 0.2 µs less to build.
    """

    planner: Planner
    dtype: torch.dtype
    rows: int
    cols: int
    pack: int
    log: bool
    device: int
    narrow: torch.dtype | None  # see ``Problem``


_loaded: dict[Key, LoadedLaunch] = {}


def run(
    planner: Planner, x: torch.Tensor, out: torch.Tensor | None = None, *, log: bool = False
) -> torch.Tensor:
    """Launch the kernel that ``planner`` chooses for x (M, N). Returns ``out``, or a new tensor.

    Raises ValueError if no kernel takes x, cuda-core's errors, and RuntimeError with the driver's
    error name. Arguments are not checked, which would take a tenth of the call: x must be one that
    ``Variant.unsupported`` accepts, and ``out`` like x, except as ``launch_rows`` allows.
    """
    device, out = x.get_device(), empty_output(x, out)
    if device >= 0 and device == current_device():
        launch_rows(planner, x, out, *x.shape, x.stride(0), out.stride(0), log)
        return out
    if reason := why_no_gpu(x):
        raise ValueError(reason)
    with torch.cuda.device(device):
        return run(planner, x, out, log=log)


def launch_rows(
    planner: Planner,
    x: torch.Tensor,
    out: torch.Tensor,
    rows: int,
    cols: int,
    x_stride: int,
    out_stride: int,
    log: bool = False,
) -> Callable[..., None]:
    """Launch as ``run`` does, on tensors of any rank that are laid out as (rows, cols) matrices.

    They must be on the current device. Shape and strides, in elements, are passed as numbers,
    because each view would cost the host 0.8 µs. ``out`` may be float32 if x has 16 bits and the
    planner's kernels convert. Returns ``launch(out, x, out_stride, x_stride, rows, cols)`` of
    ``submitter``, which repeats the launch for the same dtypes and alignment.
    """
    out_address, x_address, dtype = out.data_ptr(), x.data_ptr(), out.dtype
    narrow, aligned_as = None, x_address
    if x.dtype is not dtype:
        narrow = x.dtype
        aligned_as = scale_alignment(x_address, x.element_size(), out.element_size())
    pack = widest_pack(out.element_size(), out_address | aligned_as, x_stride | out_stride | cols)
    key = (planner, dtype, rows, cols, pack, log, x.get_device(), narrow)
    return launch_with(key, (out_address, x_address, out_stride, x_stride, rows, cols))


def launch_with(key: Key | tuple, arguments: tuple[int, ...]) -> Callable[..., None]:
    """Launch the kernel of a key, whose device must be the current one, with these arguments.

    Returns its ``launch(*arguments)``. Raises what ``run`` raises.
    """
    launch = (_loaded.get(key) or _prepare(Key(*key))).launch
    launch(*arguments)
    return launch


def launches(*planners: Planner, log: bool = False) -> Callable[[Callable], Callable]:
    """Return a decorator that notes on a function which kernels it launches: one per planner.

    On a machine without a GPU, measuring a point compiles these kernels.
    """

    def note(function: Callable) -> Callable:
        function.launches = tuple((planner, log) for planner in planners)
        return function

    return note


class ForwardFunctions(NamedTuple):
    """Hold the functions of a variant; see ``kernels.Variant``."""

    softmax: Callable
    log_softmax: Callable
    unsupported: Callable


class ConfiguredKernel(NamedTuple):
    """Hold the functions of a variant in one config, and the planner behind them."""

    softmax: Callable
    log_softmax: Callable
    unsupported: Callable
    plan: Planner


def functions(planner: Planner, limit: str = TOO_LONG) -> ForwardFunctions:
    """Return softmax, log_softmax and ``unsupported`` for the kernels that ``planner`` chooses.

    ``limit`` is the reason that ``unsupported`` gives if the planner has no plan for a row length.
    """
    softmax, log_softmax = (
        launches(planner, log=log)(functools.partial(run, planner, log=log))
        for log in (False, True)
    )

    def unsupported(x: torch.Tensor) -> str | None:
        """Return None, or why this kernel cannot run x."""
        # without a GPU the limits are those of an H200
        gpu = gpu_info(x.device) if x.is_cuda else GPUS["sm_90"]
        plans = planner(problem_of(x, False, gpu))
        if not plans:
            return f"N = {x.shape[1]}: {limit}"
        blocks = max(plan.blocks * plan.cluster for plan in plans)
        if blocks > MAX_BLOCKS and plans[0].waves is None:
            return f"M = {x.shape[0]}: it takes {blocks} blocks; a launch has at most 2^31 - 1"
        return why_no_gpu(x, max(plan.min_capability for plan in plans))

    return ForwardFunctions(softmax, log_softmax, unsupported)


@functools.cache  # one planner object per config, because it is part of the key of a launch
def configured_kernel(plan: Callable, config: str) -> ConfiguredKernel:
    """Return the functions of the kernels that ``plan(problem, config)`` chooses."""
    planner = functools.partial(plan, config=config)
    return ConfiguredKernel(*functions(planner), planner)


def why_no_gpu(x: torch.Tensor, needed: tuple[int, int] = MIN_CAPABILITY) -> str | None:
    """Return why x's device cannot run a CUDA C++ kernel, as a sentence, or None if it can."""
    if not x.is_cuda:
        return f"x is on the device {x.device}; an NVIDIA GPU and its driver are needed"
    capability = torch.cuda.get_device_capability(x.device)
    if capability < needed:
        have, need = (".".join(map(str, c)) for c in (capability, needed))
        return f"{x.device} has compute capability {have}; {need} or newer is needed"
    return None


@functools.cache
def gpu_info(device: torch.device | int) -> GpuProperties:
    """Return the properties of a GPU that decide which kernel runs."""
    properties = torch.cuda.get_device_properties(device)
    return GpuProperties(
        properties.name,
        (properties.major, properties.minor),
        properties.shared_memory_per_block_optin,
        properties.multi_processor_count,
    )


def cached_launches() -> list[LoadedLaunch]:
    """Return the cached launches, MAX_CACHED at most."""
    return list(_loaded.values())


def _prepare(key: Key) -> LoadedLaunch:
    """Compile, load and cache the launch of a key. Raises what ``run`` raises."""
    device = key.device
    if key.dtype not in TYPES:
        raise ValueError(f"x is {key.dtype}; allowed: {', '.join(map(str, TYPES))}")
    if key.narrow is not None and (key.dtype, key.narrow.itemsize) != (torch.float32, 2):
        raise ValueError(f"{key.narrow} beside {key.dtype}; allowed: 16 bits beside float32")
    sizes = key.rows, key.cols, key.pack
    plans = key.planner(Problem(key.dtype, *sizes, key.log, gpu_info(device), key.narrow))
    if not plans:
        raise ValueError(f"N = {key.cols}: {TOO_LONG}, on cuda:{device}")
    loaded = [(_load(plan, device), plan) for plan in plans]
    kernel, plan = loaded[0]
    if len(loaded) > 1:
        # the largest block size that does not lower the number of resident blocks
        occupancy = _resident(kernel, plan)
        kernel, plan = [candidate for candidate in loaded if _resident(*candidate) == occupancy][-1]
    launch = submitter(int(kernel.handle), plan, _blocks(plan, kernel, device), device)
    if len(_loaded) >= MAX_CACHED:
        _loaded.clear()
    loaded_launch = _loaded[key] = LoadedLaunch(kernel, plan, launch)
    return loaded_launch


def _resident(kernel: Kernel, plan: LaunchPlan) -> int:
    """Return how many blocks are resident on a multiprocessor at once."""
    occupancy = kernel.occupancy
    return occupancy.max_active_blocks_per_multiprocessor(plan.threads, plan.shared_bytes)


def _load(plan: LaunchPlan, device: int) -> Kernel:
    """Return the plan's kernel, permitted the shared memory and the cluster that it asks for."""
    large = plan.cluster > PORTABLE_CLUSTER
    return _kernel(plan.source, plan.kernel, device, plan.shared_bytes > 0, large)


# A kernel has a few hundred instances at most, so this cache needs no bound.
@functools.cache
def _kernel(source: Path, name: str, device: int, shared: bool, large_cluster: bool) -> Kernel:
    Device(device).set_current()  # a new thread has no context
    major, minor = torch.cuda.get_device_capability(device)
    binary = build_once(source, name, f"sm_{major}{minor}")
    with outside_a_capture():
        kernel = binary.get_kernel(name)
        if shared:  # more than 48 KiB needs an explicit permission
            limit = gpu_info(device).max_shared_per_block - kernel.attributes.shared_size_bytes
            _set(kernel, device, "MAX_DYNAMIC_SHARED_SIZE_BYTES", limit)
        if large_cluster:
            _set(kernel, device, "NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)
    return kernel


def _set(kernel: Kernel, device: int, name: str, value: int) -> None:
    attribute = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
    checked(driver.cuKernelSetAttribute(attribute, value, kernel.handle, driver.CUdevice(device)))


def _blocks(plan: LaunchPlan, kernel: Kernel, device: int) -> int:
    """Return the number of blocks to launch, or of clusters if the kernel has clusters.

    Raises ValueError if the blocks that share a row cannot all be resident at once.
    """
    if not plan.row_blocks and plan.waves is None:
        return plan.blocks
    gpu = torch.cuda.get_device_properties(device)
    if plan.row_blocks:
        resident = _resident(kernel, plan) * gpu.multi_processor_count
        if resident < plan.row_blocks:
            raise ValueError(f"a row takes {plan.row_blocks} blocks; {resident} are resident")
        return min(plan.blocks, resident // plan.row_blocks * plan.row_blocks)
    wave = gpu.multi_processor_count * gpu.max_threads_per_multi_processor // plan.threads
    return min(plan.blocks, plan.waves * wave)
