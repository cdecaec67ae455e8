"""The machine code of Triton kernels for a GPU that is not there; see ``offline``."""

import json
import subprocess
import tempfile
from pathlib import Path

from tests.kernels.helpers.offline import CUOBJDUMP, AbsentGPU
from tests.processes import run_code

LAUNCH = """
import json, os, sys
os.environ.pop("TRITON_INTERPRET", None)  # before a kernel is imported
from triton.runtime import driver
from tests.measure.sass import Reader

gpu = Reader(int(sys.argv[1]))
driver.set_active(gpu)
exec(sys.argv[2])
print(json.dumps(gpu.loaded))
"""


class Reader(AbsentGPU):
    """An absent GPU that reads the machine code which it should load."""

    def load_binary(self, name, cubin, shared, device):
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            Path(file.name).write_bytes(cubin)
            self.loaded.append(subprocess.check_output([CUOBJDUMP, "-sass", file.name], text=True))
        return object(), 0, 32, 0, 1024


def of_kernels(launches: str, arch: int = 90) -> list[str]:
    """Return the SASS of all kernels that this code launches on CPU tensors, as on a GPU."""
    return json.loads(run_code(LAUNCH, str(arch), launches))
