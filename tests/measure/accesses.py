"""How the roofline's kernels would go about memory on a GPU that is not there; see ``offline``.

``python accesses.py ARCH N DTYPE READS`` prints one JSON line per shape of the kernel that reads
READS matrices: how often each width of load and store stands in the machine code for N elements in
buffers as torch allocates them.
"""

import collections
import json
import re
import subprocess
import sys
import tempfile

import torch
from triton.runtime import driver

from measure.clock import copy_kernel
from tests.kernels.helpers.offline import CUOBJDUMP, AbsentGPU


class Reader(AbsentGPU):
    """An absent GPU that reads the machine code which it should load."""

    def load_binary(self, name, cubin, shared, device):
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(cubin)
            file.flush()
            command = [CUOBJDUMP, "-sass", file.name]
            code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        self.loaded.append(collections.Counter(re.findall(r"(?:LDG|STG)\.E[.\w]*", code)))
        return object(), 0, 32, 0, 1024


def accesses(arch: int, n: int, dtype: torch.dtype, reads: int) -> list[dict]:
    """What every such call of the roofline does to matrices of n elements."""
    gpu = Reader(arch)
    driver.set_active(gpu)
    matrices = [torch.empty(n, dtype=dtype)] * (reads + 1)
    for call in copy_kernel.candidates(dtype.itemsize, reads).values():
        call(*matrices)
    return gpu.loaded


if __name__ == "__main__":
    arch, n, dtype, reads = sys.argv[1:]
    for entry in accesses(int(arch), int(n), getattr(torch, dtype), int(reads)):
        print(json.dumps(entry))
