"""A kernel that eats all memory: the system ends its worker alone, and the row says why."""

import contextlib
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from measure.process import run_point
from tests.bench import read_row
from tests.processes import until

LIMIT_BYTES = 1200 * 2**20  # torch itself takes a third of it
V1, V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


@pytest.fixture
def small():
    """A control group with little memory; the machine's own is never at stake."""
    root, name = (V1, "memory.limit_in_bytes") if V1.is_dir() else (V2, "memory.max")
    group = root / f"softmax-bench-{uuid.uuid4().hex[:8]}"
    try:
        group.mkdir()
        (group / name).write_text(str(LIMIT_BYTES))
        with contextlib.suppress(OSError):  # where swap is counted, too
            (group / "memory.swap.max").write_text("0")
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield group
    until(lambda: not (group / "cgroup.procs").read_text())  # a server may still be ending
    group.rmdir()


def test_a_kernel_that_eats_all_memory_is_ended_alone(project, small):
    (project / "kernels/contributed" / "eats.py").write_text(
        "import torch\n"
        "HELD = []\n"
        "def softmax(x, out=None):\n"
        "    while True:\n"
        "        HELD.append(torch.ones(2**24))\n"
    )
    enter = f"import os; open('{small}/cgroup.procs', 'w').write(str(os.getpid())); "
    options = ["--gpu", "cpu", "--M", "8", "--N", "32", "--variant", "eats", "--output", "row.csv"]
    code = (
        f"{enter}from measure.__main__ import main; raise SystemExit(main({['point', *options]}))"
    )
    environment = os.environ | {"PYTHONPATH": str(project), "SMALL": small.name}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    row = read_row(project / "row.csv")
    assert row["status"] == "out_of_memory", row["message"]
    assert row["message"].startswith("no memory was left, and Linux killed the process in stage: ")


def test_kills_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(run_point, "COUNTERS", tmp_path / "vmstat")
    assert run_point.oom_kills() == 0
    run_point.COUNTERS.write_text("nr_free_pages 12\noom_kill 3\nswap_ra 1\n")
    assert run_point.oom_kills() == 3
