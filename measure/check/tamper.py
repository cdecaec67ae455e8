"""Check that a variant has replaced nothing that timing and the correctness check depend on.

The state before the variant is loaded is compared with later states: NAMES, the baseline in torch's
dispatcher, SETTINGS, and all functions, classes, constants and tables of this package and
operations.

The kernel runs in this process, so this is no sandbox. It cannot detect the following, for which a
reviewer must read the kernel:
- objects that are restored before the next comparison, and functions that NAMES leaves out;
- code that is patched in memory;
- threads or processes that occupy the cores;
- audit hooks of the interpreter, and flush-to-zero mode of the processor, which cannot be queried;
- a kernel that finds the recorded state through the garbage collector.
"""

import functools
import gc
import importlib
import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable

import torch

import operations
from operations import Operation

from ..clock import hooks
from ..device.opened import Device

# Functions behind clocks, events, graphs and the baseline, and those that the correctness check and
# the drawing of inputs call.
NAMES = (
    *("time.perf_counter_ns", "time.monotonic", "statistics.median", "numpy.median", "numpy.sort"),
    *("torch.cuda.Event", "torch.cuda.Event.record", "torch.cuda.Event.elapsed_time"),
    *("torch.cuda.graph", "torch.cuda.CUDAGraph", "torch.cuda.CUDAGraph.replay"),
    *("torch.cuda.synchronize", "torch.cuda.current_stream", "torch.cuda._sleep"),
    *("torch.add", "torch.equal", "torch.where", "torch.empty", "torch.empty_like"),
    *("torch.rand", "torch.randn", "torch.Generator", "torch.full_like", "torch.maximum"),
    *(f"torch.Tensor.{name}" for name in ("copy_", "fill_", "double", "view", "clone", "isnan")),
    *(f"torch.Tensor.{name}" for name in ("item", "abs", "sum", "any", "to", "__getitem__")),
    *("random.Random.sample", "random.Random.randrange", "random.SystemRandom.getrandbits"),
)
# Modules that only a GPU needs. They are imported before the kernel could replace their contents;
# and if one is missing, the kernel is not blamed.
ON_A_GPU = ("clock.roofline", "clock.graph", "compiled_stats", "device.telemetry")
PACKAGE = __package__.partition(".")[0]
PACKAGES = PACKAGE, "operations"
OPERATORS = ("mul.Tensor",)  # torch's, on which every exact result and bound depends
# Settings of the process by which a variant could slow the baseline more than itself. A hook of the
# interpreter, such as a profile function, costs time for each Python call.
SETTINGS = {
    "sys.getprofile": sys.getprofile,
    "sys.gettrace": sys.gettrace,
    "sys.getswitchinterval": sys.getswitchinterval,
    "threading.getprofile": threading.getprofile,
    "threading.gettrace": threading.gettrace,
    "the tools of sys.monitoring": hooks.monitoring_tools,
    "gc.callbacks": lambda: tuple(map(id, gc.callbacks)),
    "gc.get_threshold": gc.get_threshold,
    "signal.getitimer": lambda: [signal.getitimer(timer)[1] for timer in TIMERS],
    "os.sched_getaffinity": lambda: sorted(os.sched_getaffinity(0)),
    "os.sched_getscheduler": lambda: os.sched_getscheduler(0),
    "os.getpriority": lambda: os.getpriority(os.PRIO_PROCESS, 0),
    "torch.get_num_threads": torch.get_num_threads,
    "torch.get_num_interop_threads": torch.get_num_interop_threads,
    "torch.get_default_dtype": torch.get_default_dtype,
    "torch.is_autocast_enabled": lambda: [*map(torch.is_autocast_enabled, ("cpu", "cuda"))],
    "torch.is_anomaly_enabled": torch.is_anomaly_enabled,
    "torch.are_deterministic_algorithms_enabled": torch.are_deterministic_algorithms_enabled,
    "torch.autograd.profiler": torch.autograd._profiler_enabled,
    "torch's stack of function modes": torch._C._len_torch_function_stack,
    "torch's stack of dispatch modes": torch._C._len_torch_dispatch_stack,
}
TIMERS = signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF
MIN_PARALLEL = 2**17  # elements; smaller tensors are filled by a single thread of torch


def watch(device: Device, operation: Operation) -> Callable[[], str | None]:
    """Return a function that returns a sentence about what was replaced since now, or None.

    It is a closure, so replacing functions of this module does not change the comparison.
    """
    if not device.is_cpu:
        for name in ON_A_GPU:
            importlib.import_module(f"{PACKAGE}.{name}")
    # OpenMP's first parallel region may pin this thread to a core; the kernel is not to blame
    torch.zeros(MIN_PARALLEL)
    objects = functools.partial(_objects, operation)
    settings = functools.partial(_settings, {*operation.aten, *OPERATORS})
    names_before, settings_before = objects(), settings()

    def replaced() -> str | None:
        now = objects()
        for name, before in names_before.items():
            # tables are compared by value, all other objects by identity
            pairs = zip(before, now.get(name, (None,) * len(before)), strict=False)
            if not all(a == b if isinstance(a, dict) else a is b for a, b in pairs):
                return f"the kernel replaced {name}"
        for name, value in settings().items():
            if value != (before := settings_before.get(name, value)):
                values = f" from {before} to {value}"
                return f"the kernel changed {name}{values if len(values) < 50 else ''}"
        return None

    return replaced


def _objects(operation: Operation) -> dict[str, tuple]:
    """Return name -> (object, and the code and defaults if it is a Python function)."""
    objects = {name: _parts(_resolve(name)) for name in (*NAMES, *operation.watched)}
    loaded, prefix = operations.load(operation.name), f"operations.{operation.name}.OPERATION"
    objects |= {f"{prefix}.{key}": _parts(value) for key, value in vars(loaded).items()}
    for y in loaded.outputs:
        objects |= {f"{prefix}.{y.name}.{key}": _parts(value) for key, value in vars(y).items()}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in PACKAGES:
            objects |= _members(name, vars(module))
    return objects


def _resolve(name: str) -> object:
    module, *path = name.split(".")
    value = sys.modules.get(module)
    for step in path:
        value = getattr(value, step, None)
    return value


def _members(prefix: str, namespace: dict) -> dict[str, tuple]:
    """Return functions, classes, constants and tables of a module or class, like ``_objects``."""
    objects = {}
    for key, value in list(namespace.items()):
        name = f"{prefix}.{key}"
        if inspect.isclass(value) and value.__module__ == prefix:
            objects |= {name: (value,)} | _members(name, vars(value))
        elif callable(value) or isinstance(value, (int, float, str, tuple, staticmethod, property)):
            objects[name] = _parts(value)
        elif isinstance(value, dict) and key.isupper():
            objects[name] = (value, dict(value))  # the table, and a copy of its values
    return objects


def _parts(value: object) -> tuple:
    names = ("__code__", "__defaults__", "__kwdefaults__")
    return value, *(getattr(value, name, None) for name in names)


def _settings(operators: set[str]) -> dict[str, object]:
    state = {name: read() for name, read in SETTINGS.items()}
    for name in operators:
        # Device kernels only: a variant with torch.compile may register others (Meta, Autograd).
        lines = torch._C._dispatch_dump(f"aten::{name}").splitlines()
        state[f"what torch dispatches aten::{name} to"] = tuple(
            line for line in lines if line.startswith(("CPU:", "CUDA:"))
        )
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        from ..clock import l2  # needs cuda.bindings, which a CPU may lack

        state["torch.cuda.current_stream"] = torch.cuda.current_stream().cuda_stream
        state["the L2 set aside for persisting lines"] = l2.persisting_bytes()
    return state
