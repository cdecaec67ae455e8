"""The machine code of Triton kernels for a GPU that is not there; see ``offline``."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from triton.runtime import driver

from measure import ROOT
from tests.kernels.helpers.offline import CUOBJDUMP, AbsentGPU


class Reader(AbsentGPU):
    """An absent GPU that reads the machine code which it should load."""

    def load_binary(self, name, cubin, shared, device):
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            Path(file.name).write_bytes(cubin)
            command = [CUOBJDUMP, "-sass", file.name]
            self.loaded.append(subprocess.check_output(command, text=True))
        return object(), 0, 32, 0, 1024


def of_kernels(launches: str, arch: int = 90) -> list[str]:
    """Return the SASS of all kernels that this code launches on CPU tensors, as on a GPU."""
    hidden = {"TRITON_INTERPRET": None, "PYTHONPATH": str(ROOT)}
    environment = {k: v for k, v in (os.environ | hidden).items() if v is not None}
    command = [sys.executable, __file__, str(arch), launches]
    return json.loads(subprocess.check_output(command, env=environment, text=True))


if __name__ == "__main__":
    gpu = Reader(int(sys.argv[1]))
    driver.set_active(gpu)
    exec(sys.argv[2])
    print(json.dumps(gpu.loaded))
