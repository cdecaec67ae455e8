"""Kernels from files outside the project."""

import shutil
import sys
from pathlib import Path

import pytest

import kernels
from kernels.registry import discover
from measure.point import BadPoint, Point
from measure.process import fork_client
from tests.processes import run_code

KERNEL = "import torch\n\n\ndef softmax(x, out=None):\n    return torch.softmax(x, -1, out=out)\n"
IMPORTS = ("from helper import f", "import helper", "from . import helper", "from .helper import f")
CACHED = (kernels.ops, kernels.sources, kernels.sha256, kernels.packages)


def forget():
    discover._added.clear()
    for cached in (kernels.add, *CACHED):
        cached.cache_clear()


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])  # loading a file adds its folder
    forget()
    yield
    forget()


@pytest.fixture
def write(tmp_path):
    """write(name, text): a file below a folder that a shell would take for several words."""

    def write(name, text=KERNEL):
        path = tmp_path / 'it\'s "mine"; $(touch x)' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def point(path, **more):
    size = {"gpu": "cpu", "dtype": "float32", "M": 4, "N": 8}
    return Point(**size, variant=path.stem, files=(str(path),), **more)


def test_a_file_becomes_a_variant_under_its_stem(write):
    path = write("mine.py")
    assert kernels.add(path) == kernels.add(str(path)) == "mine"
    assert kernels.file("mine") == path
    assert kernels.ops("mine") == {"softmax"}
    assert kernels.packages("mine") == {"torch"}
    assert kernels.load("mine").softmax.__code__.co_filename == str(path)
    assert "mine" not in kernels.names()
    assert "mine" in kernels.by_default("softmax", ["mine"])
    assert "mine" not in kernels.by_default("log_softmax", ["mine"])


def test_a_file_may_say_that_it_is_measured_on_request_and_have_configs(write):
    kernels.add(write("mine.py", f"ON_REQUEST = True\nCONFIGS = ('a', 'b')\n{KERNEL}"))
    assert "mine" not in kernels.by_default("softmax", ["mine"])
    kernels.check_name("mine__b")
    with pytest.raises(KeyError, match=r"did you mean mine__. or mine__."):
        kernels.check_name("mine__c")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent.py", "no such file"),
        ("mine.txt", "not a Python file"),
        ("my-kernel.py", "letters, digits and underscores"),
        ("_mine.py", "begins with a letter"),
        ("größer.py", "letters, digits and underscores"),
        ("my__kernel.py", "two underscores stand between a kernel and its config"),
        ("triton_row.py", "the project has a variant 'triton_row', too; rename the file"),
    ],
)
def test_a_file_that_cannot_be_a_variant_is_refused(write, name, words):
    path = write(name)
    if name == "absent.py":
        path.unlink()
    with pytest.raises(kernels.BadKernel, match=words):
        kernels.add(path)
    with pytest.raises(BadPoint, match=words):
        point(path)


def test_a_file_without_a_function_says_which_it_may_have(write):
    kernels.add(write("mine.py", "def softmaks(x, out=None): ...\n"))
    with pytest.raises(TypeError, match=r"mine.py defines no function of these: softmax\(x, out"):
        kernels.load("mine")
    with pytest.raises(kernels.BadKernel, match="has the same name; rename one of them"):
        kernels.add(write("other/mine.py"))


@pytest.mark.parametrize("line", IMPORTS)
def test_what_lies_beside_a_file_is_part_of_its_hash(write, line):
    helper = write("helper.py", "import nowhere_at_all\nf = 1\n")
    deeper = write("deep/er.py", "")
    path = write(
        "mine.py", f"{line}\nimport deep.er\nfrom kernels.tensors import empty_output\n{KERNEL}"
    )
    kernels.add(path)
    ours = {Path(kernels.__file__).with_name(name) for name in ("tensors.py", "contract.py")}
    assert set(kernels.sources("mine")) == {path, helper, deeper, *ours}
    before = kernels.sha256("mine", "cpu")
    helper.write_text("f = 2\n")
    forget()
    kernels.add(path)
    assert kernels.sha256("mine", "cpu") != before
    forget()
    helper.write_text("import nowhere_at_all\nf = 1\n")
    moved = shutil.copytree(path.parent, path.parent.with_name("there")) / "mine.py"
    kernels.add(moved)
    assert kernels.sha256("mine", "cpu") == before, "the place of a file means nothing"


def test_what_lies_beside_a_file_is_imported(write):
    """In a new process, where nothing that is imported here hides what is missing there."""
    files = []
    for i, line in enumerate(IMPORTS):  # each with its own helper, since all are loaded
        write(f"helper{i}.py", "f = 1\n")
        line = line.replace("helper", f"helper{i}")
        files.append(str(write(f"mine{i}.py", f"{line}\n{KERNEL}")))
    code = (
        "import sys, kernels\n"
        "for i, path in enumerate(sys.argv[1:]):\n"
        "    kernels.add(path); kernels.load(f'mine{i}')\n"
        "    names = kernels.loaded_modules(f'mine{i}')\n"
        "    names = sorted(name.rpartition('.')[2] for name in names)\n"
        "    assert names == [f'helper{i}', f'mine{i}'], names\n"
    )
    run_code(code, *files)


def test_a_cuda_source_beside_a_file_is_part_of_its_hash(write):
    source = write("mine.cu", '#include "row.cuh"\n')
    write("mine.py", f"from kernels.cuda import launch\nSOURCE = 'mine.cu'\n{KERNEL}")
    kernels.add(source.with_suffix(".py"))
    found = kernels.sources("mine")
    assert source in found
    assert {"row.cuh", "launch.py", "nvrtc.py"} <= {path.name for path in found}
    assert "cuda" in kernels.packages("mine")


def test_a_file_beside_a_kernel_hides_no_installed_package(write):
    write("json.py", "raise ImportError('not this one')\n")
    path = write("mine.py", f"import json\n{KERNEL}")
    kernels.add(path)
    assert kernels.load("mine").softmax


def test_a_server_is_known_by_the_code_that_finds_kernels(monkeypatch):
    name = fork_client.address({}, 1)
    monkeypatch.setattr(kernels, "own_sha256", lambda: "another")
    assert fork_client.address({}, 1) != name
