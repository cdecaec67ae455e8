"""Compile Triton variants for a GPU that is not there, as a launch on that GPU would.

It calls the variant's own function on CPU tensors, with a driver that compiles and then does
not launch, so that argument specialisation, block sizes and warps are the variant's, not a copy of
them. ``python offline.py ARCH DTYPE M N OP VARIANT…`` prints one JSON line per kernel.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

import kernels

# From NVIDIA's compute capability table: shared memory a block may use, registers, warps.
SHARED_BYTES = {80: 163 * 1024, 90: 227 * 1024}
CUOBJDUMP = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"


def resources(cubin: bytes) -> tuple[int, int]:
    """(registers per thread, local-memory bytes per thread) that cuobjdump reads in a cubin."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        text = subprocess.run(
            [CUOBJDUMP, "-res-usage", file.name], capture_output=True, text=True, check=True
        ).stdout
    registers, stack = re.search(r"REG:(\d+) STACK:(\d+)", text).groups()
    return int(registers), int(stack)


class AbsentGPU:
    """The part of Triton's driver that compiling needs; a launch does nothing."""

    def __init__(self, arch: int):
        self.target = GPUTarget("cuda", arch, 32)
        self.loaded = []
        self.utils = SimpleNamespace(
            load_binary=self.load_binary,
            get_device_properties=lambda device: {
                "max_shared_mem": SHARED_BYTES[arch],
                "multiprocessor_count": 108,
                "max_num_regs": 65536,
                "warpSize": 32,
            },
        )

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0

    def get_current_target(self):
        return self.target

    def launcher_cls(self, source, metadata):
        return lambda *args: None

    def load_binary(self, name, cubin, shared, device):
        registers, stack = resources(cubin)
        self.loaded.append(
            {"name": name, "registers": registers, "spilled_bytes": stack, "shared_bytes": shared}
        )
        return object(), 0, registers, stack, 1024


def compile_variant(name: str, op: str, arch: int, dtype: str, rows: int, cols: int) -> list[dict]:
    """What was compiled to run ``name`` on (rows, cols) matrices on compute capability ``arch``."""
    gpu = AbsentGPU(arch)
    driver.set_active(gpu)
    x = torch.empty(rows, cols, dtype=getattr(torch, dtype))
    read = [x] * len(kernels.OPS[op])
    kernels.load(name).function(op)(*read, torch.empty_like(x))
    return gpu.loaded


if __name__ == "__main__":
    arch, dtype, rows, cols, op, *variants = sys.argv[1:]
    for name in variants:
        for entry in compile_variant(name, op, int(arch), dtype, int(rows), int(cols)):
            print(json.dumps({"variant": name, **entry}))
