"""`make peers` ends with it: say which kernels of other projects run on this machine.

Each is loaded and called in another process, on a small matrix, as a point is measured.
"""

import sys
import tempfile
from pathlib import Path

import kernels
from analysis.report import shape_ranking
from kernels.terminal import replace_missing_characters
from measure.device import gpus
from measure.point import MIN_BLOCKS, Point
from tools.shape import exit_code, measure

M, N = 64, 1024  # every peer takes this matrix


def list_peers() -> int:
    """Print a line for each peer; return 0, because a peer that cannot run is no error.

    Raises KernelFileError, PointError and InputError.
    """
    gpu = gpus.resolve(gpus.AUTO)
    names = [name for name in kernels.names() if kernels.family(name) == kernels.PEERS]
    faults, rows = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            op = min(kernels.ops(name))  # each package is loaded as a whole
            point = Point(gpu, "float32", M, N, name, op=op, blocks=MIN_BLOCKS)
            row = Path(folder, f"{name}.csv")
            if fault := measure(point, row):
                faults[name] = fault
            else:
                rows.append(row)
        table = shape_ranking.load(rows)
    print(shape_ranking.checked(table, faults))
    running = table.loc[table["status"] == "ok", "variant"].tolist()
    print(f"{len(running)} of {len(names)} run here: {', '.join(running) or 'none'}")
    return 0


if __name__ == "__main__":
    replace_missing_characters()
    sys.exit(exit_code(list_peers))
