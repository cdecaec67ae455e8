"""Compile kernels for a GPU that is not there, as a launch on that GPU would.

For Triton it calls the kernel's own launcher on CPU tensors, with a driver that compiles and does
not launch. So argument specialisation, block sizes and warps are the kernel's, not a copy of them.
"""

import io
import json
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import torch
import triton
from cuda.core import ObjectCode
from triton.backends.compiler import GPUTarget

import kernels
import operations
from kernels.cuda import nvrtc
from tests.processes import run_code

# Limits in NVIDIA's compute capability table: shared memory a block may use, registers, warps.
SHARED_BYTES = {80: 163 * 1024, 90: 227 * 1024}
CUOBJDUMP = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
LAUNCH = """
import json, os, sys
os.environ.pop("TRITON_INTERPRET", None)  # before a kernel is imported
import torch
from triton.runtime import driver
from tests.kernels.helpers import offline

gpu = offline.AbsentGPU(int(sys.argv[1]))
driver.set_active(gpu)
exec(sys.argv[2])
print(json.dumps(gpu.loaded))
"""


def compiled(launches: str, arch: int = 90) -> list[tuple]:
    """Return (``gpu.job``, name, machine code) of each kernel that this code launches on ``gpu``.

    A process compiles nothing twice.
    """
    loaded = json.loads(run_code(LAUNCH, str(arch), launches))
    return [(job, name, bytes.fromhex(cubin)) for job, name, cubin in loaded]


def dumped(cubin: bytes, option: str) -> str:
    """Return what cuobjdump prints of machine code."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        Path(file.name).write_bytes(cubin)
        return subprocess.check_output([CUOBJDUMP, option, file.name], text=True, encoding="utf-8")


def resources(cubin: bytes) -> dict[str, tuple[int, int]]:
    """Return each function's registers and bytes of local memory, as cuobjdump reads them."""
    usages = re.findall(r"Function (\w+):\s*REG:(\d+) STACK:(\d+)", dumped(cubin, "-res-usage"))
    return {name: (int(registers), int(stack)) for name, registers, stack in usages}


def built(source: Path, names: Iterable[str], arch: str) -> tuple[ObjectCode, dict[str, tuple]]:
    """Compile CUDA C++ without a warning: (its binary, registers and local bytes of each name)."""
    log, names = io.StringIO(), tuple(names)
    binary = nvrtc.build(source, names, arch, log)
    assert "warning" not in log.getvalue(), log.getvalue()
    used = resources(binary.code)
    return binary, {name: used[binary.symbol_mapping[name].decode()] for name in names}


class AbsentGPU:
    """The part of Triton's driver that compiling needs; a launch does nothing."""

    def __init__(self, arch: int):
        properties = {"max_shared_mem": SHARED_BYTES[arch], "multiprocessor_count": 108}
        properties |= {"max_num_regs": 65536, "warpSize": 32}
        self.loaded, self.job = [], None
        self.utils = SimpleNamespace(
            load_binary=self.load_binary, get_device_properties=lambda device: properties
        )
        self.get_current_device = lambda: 0
        self.get_current_stream = lambda device: 0
        self.get_current_target = lambda: GPUTarget("cuda", arch, 32)
        self.launcher_cls = lambda source, metadata: lambda *args: None

    def load_binary(self, name, cubin, shared, device):
        self.loaded.append((self.job, name, cubin.hex()))
        return object(), 0, *resources(cubin)[name], 1024


def launch(name: str, op: str, cols: int, dtype: torch.dtype) -> None:
    """Call a variant's function on 1024 rows."""
    x = torch.empty(1024, cols, dtype=dtype)
    read = [x] * len(operations.load(op).inputs)
    if kernels.load(name).unsupported(x):
        return
    kernels.load(name).function(op)(*read, torch.empty_like(x))


def launch_dropin(dtype: torch.dtype) -> None:
    """Call every launcher of the drop-in's own kernels, so that each compiles all its configs."""
    from kernels.dropin.library_function import Call
    from kernels.dropin.routes import triton_backward, triton_forward

    t = torch.empty(1, dtype=dtype)
    for log in (False, True):
        for cols in (781, 4096, 16384, 100_000):  # every number of warps; blocks and tiles
            triton_forward(log, Call(t, (t,), 64, cols, 1, cols))
            triton_backward(log, Call(t, (t, t), 64, cols, 1, cols))
        # columns in one tile, in tiles, in chunks that one program or several take
        sizes = (64, 10, 3), (64, 1, 1), (99, 256, 32), (64, 256, 512), (64, 257, 512)
        for outer, n, inner in (*sizes, (99, 4097, 100), (1, 33_000, 64), (1, 2**20, 1)):
            triton_forward(log, Call(t, (t,), outer, n, inner, None))
            triton_backward(log, Call(t, (t, t), outer, n, inner, None))
