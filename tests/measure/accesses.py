"""How the roofline's kernels would go about memory on a GPU that is not there; see ``offline``.

``python accesses.py ARCH N`` prints one JSON line per dtype, number of matrices read and shape: how
often each width of load and store stands in the machine code for N elements in buffers as torch
allocates them.
"""

import collections
import itertools
import json
import re
import subprocess
import sys
import tempfile

import torch
from triton.runtime import driver

from measure import copy_kernel
from tests.kernels.offline import CUOBJDUMP, AbsentGPU


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


def accesses(arch: int, n: int) -> list[dict]:
    """What every call of the roofline does to matrices of n elements."""
    gpu = Reader(arch)
    driver.set_active(gpu)
    found = []
    for dtype, reads in itertools.product((torch.float32, torch.bfloat16), (1, 2)):
        matrices = [torch.empty(n, dtype=dtype)] * (reads + 1)
        for shape, call in enumerate(copy_kernel.candidates(dtype.itemsize, reads)):
            call(*matrices)
            of = {"itemsize": dtype.itemsize, "reads": reads, "shape": shape}
            found.append(of | {"accesses": gpu.loaded[-1]})
    return found


if __name__ == "__main__":
    for entry in accesses(*map(int, sys.argv[1:])):
        print(json.dumps(entry))
