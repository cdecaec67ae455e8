"""A kernel is handed in as its file alone: the project's tests pass with what `new` writes."""

import shutil
import sys
from pathlib import Path

import pytest

from kernels.registry.scaffold import LANGUAGES
from measure import ROOT
from tests import copies
from tests.processes import run

# Names that say nothing of the language, or sound like kernels that the project knows by name.
NAMES = {"torch": "peer_of_mine", "triton": "softly", "cuda": "frontier_of_mine"}
PYTEST = sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "not slow"
# The tests that list the kernels, a sweep of all, or files of kernels/.
LISTING = [f"tests/kernels/test_{name}.py" for name in ("compile", "compile_cuda", "numerics")]
LISTING += [f"tests/kernels/test_{name}.py" for name in ("registry", "sanitizer", "scaffold")]
LISTING += ["tests/docs/test_numbers.py", "tests/planning", "tests/tools/test_record.py"]
LISTING += ["tests/workflow/test_outside.py", "tests/test_encodings.py"]


@pytest.fixture
def with_contributed(tmp_path) -> Path:
    """A copy of the project and its tests, with a new kernel in each language."""
    folder = copies.copy_project(tmp_path / "project")
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".clang-format", folder)
    for language in LANGUAGES:
        name = NAMES[language]
        output = run(
            sys.executable, "-m", "kernels", "new", name, "--language", language, cwd=folder
        )
        assert f"    python -m pytest tests/kernels -k {name}\n" in output
    return folder


def test_the_tests_that_new_names_pass(with_contributed):
    words = " or ".join(NAMES.values())
    output = run(*PYTEST, "tests/kernels", "-k", words, cwd=with_contributed)
    assert " passed" in output


# A narrow kernel: it takes few inputs, and the reason for it is its own.
NARROW = """

def unsupported(x):
    return None if x.shape[1] == 4096 else "only rows of 4096"
"""


@pytest.mark.slow
def test_all_tests_that_list_the_kernels_pass(with_contributed):
    with (with_contributed / "kernels/contributed/softly.py").open("a", encoding="utf-8") as file:
        file.write(NARROW)
    output = run(*PYTEST, *LISTING, cwd=with_contributed)
    assert " passed" in output
