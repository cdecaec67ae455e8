"""The commands of the documents that install something, as a new machine runs them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from measure import ROOT
from tests.docs.test_commands import COMMANDS, INSTALLING
from tests.processes import run

# Commands of a reader of the tutorial, and then those that install more, in one shell.
TUTORIAL = COMMANDS["docs/tutorial.md"]
LATER = [c for page in COMMANDS.values() for c in page if c.startswith(tuple(INSTALLING))]


@pytest.fixture
def clone(tmp_path) -> Path:
    """The files that Git has or would add, as after `git clone`."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no repository of Git")
    listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, run(*listed).split("\0")):
        if (ROOT / name).exists():
            (tmp_path / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / "clone" / name)
    return tmp_path / "clone"


def bare_environment() -> dict[str, str]:
    """That of a new machine: Python, and nothing of the environment of these tests."""
    python = Path(sys.base_prefix) / "bin"
    kept = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "CI")}
    return kept | {"PATH": f"{python}:/usr/local/bin:/usr/bin:/bin"}


@pytest.mark.slow
def test_a_new_machine_installs_what_the_documents_say(clone):
    script = "\n".join(["set -ex", *dict.fromkeys(TUTORIAL + LATER)])
    # the peers are hundreds of megabytes, so pip resolves them and ends
    script = script.replace("make peers", 'make peers INSTALL="-m pip install --dry-run"')
    # a command that needs a GPU says so without one
    script = script.replace("python -m softmax_bench warm-up", "! python -m softmax_bench warm-up")
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=clone,
        env=bare_environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert torch.cuda.is_available() or "error: " in done.stderr
