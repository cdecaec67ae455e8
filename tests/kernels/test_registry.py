"""Variants: the interface of each, names, what a file's hash is made of, files from elsewhere."""

import ast
import shutil
import sys
from pathlib import Path

import pytest
import torch

import kernels
import operations
from kernels.registry import dependencies, discover
from measure.errors import PointError
from measure.point import Point
from tests.kernels.helpers.variants import forget, loaded
from tests.processes import run_code

KERNEL = "import torch\ndef softmax(x, out=None):\n    return torch.softmax(x, -1, out=out)\n"
BESIDE = ("from helper import f", "import helper", "from . import helper", "from .helper import f")


@pytest.fixture(autouse=True)
def nothing_added(monkeypatch):
    """Forget what other tests added, and every file that a test adds."""
    monkeypatch.setattr(sys, "path", [*sys.path])  # loading a file adds its folder
    forget()
    yield
    forget()


@pytest.fixture
def write(tmp_path):
    """Call it to write a file below a folder that a shell would take for several words."""

    def write(name, text=KERNEL):
        path = tmp_path / 'it\'s "mine"; $(touch x)' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Put an empty family in place of those of kernels/, for files of any kind."""
    for module in (discover, dependencies):
        monkeypatch.setattr(module, "KERNELS", tmp_path)
    (tmp_path / "published").mkdir()
    return tmp_path / "published"


@pytest.mark.parametrize("name", kernels.names())
def test_every_variant_has_the_interface(name):
    text = ast.get_docstring(ast.parse(kernels.variant_file(name).read_text(encoding="utf-8")))
    for part in ("Source:", "Bytes:"):
        assert part in text, f"the docstring of {name} lacks {part}"
    variant = loaded(name)
    assert variant.name == name
    assert {op for op in operations.names() if hasattr(variant, op)} == kernels.ops(name)
    for x, words in (
        (torch.zeros(3), "1 dimensions"),
        (torch.zeros(2, 3, dtype=torch.float64), "float64"),
        (torch.zeros(0, 3), "no elements"),
        (torch.zeros(3, 2).t(), "column stride"),
    ):
        assert words in variant.unsupported(x)


def test_an_unknown_name_is_answered_with_close_ones():
    for name, words in (
        ("triton_onlin", "did you mean triton_online"),
        ("zzzzzz", "there are: "),
        ("frontier_rows__k3w16", "did you mean frontier_rows__k"),
        ("triton_row__k3", "did you mean triton_row"),
        ("frontier_row__k2w16", "did you mean frontier_rows"),
    ):
        with pytest.raises(KeyError, match=words):
            kernels.load(name)


def test_a_variant_may_have_some_operations_alone():
    for name, op in (("triton_online", "log_softmax"), ("triton_backward", "softmax")):
        with pytest.raises(NotImplementedError, match=f"{name} has no {op}"):
            kernels.load(name).function(op)
    defaults = kernels.default_variants("softmax")
    assert "frontier" in defaults
    families = {kernels.family(name) for name in defaults if name != "frontier"}
    assert families <= {"published", "contributed"}


def test_a_config_is_a_variant_with_the_hash_of_its_file():
    variant = kernels.load("frontier_rows__k2w16")
    assert callable(variant.softmax)
    hashes = {kernels.kernel_sha256(name) for name in (variant.name, "frontier_rows")}
    assert len(hashes) == 1
    assert kernels.ops(variant.name) == {"softmax", "log_softmax"}
    files = {path.name for path in kernels.source_files("frontier")}
    assert {"frontier_spread.cu", "vec.cuh", "_tiling.py"} <= files
    assert f"{kernels.split_config.__module__.rpartition('.')[2]}.py" in files


def test_what_an_editor_leaves_is_no_variant_and_a_broken_file_is_one(folder):
    (folder / "mine.py").write_text("def softmax(x, out=None)\n", encoding="utf-8")
    (folder / "my-kernel.py").write_text("", encoding="utf-8")
    (folder / "_helper.py").write_text("", encoding="utf-8")
    (folder / ".#mine.py").symlink_to("nobody@nowhere")
    assert kernels.names() == ["mine"]
    assert len(kernels.kernel_sha256("mine")) == 64
    assert kernels.packages("mine") == frozenset()


def test_the_functions_of_a_file_are_read_from_its_text(folder):
    for number, (text, defaults) in enumerate(
        [
            ("def log_softmax(x, out=None): ...", {"log_softmax"}),
            ("from .a import f as softmax", {"softmax"}),
            ("softmax = softmax_backward = print", {"softmax", "softmax_backward"}),
            ("softmax, log_softmax = f()\ntable[softmax_backward] = 1", {"softmax", "log_softmax"}),
            ("def softmaks(x, out=None): ...", {*operations.names()}),
            ("def softmax(", {*operations.names()}),
            ("def softmax(x):\n    x = 1\n    global x", {*operations.names()}),  # it parses
            ("# coding: latin-1\ndef softmax(x): 'ä'", {"softmax"}),
        ]
    ):
        (folder / f"mine{number}.py").write_bytes(text.encode("latin-1"))
        discover._files.cache_clear()
        assert kernels.ops(f"mine{number}") == defaults, text


def test_two_files_of_one_name_or_a_bad_name_are_refused(folder, write):
    kernels.add_variant(write("mine.py"))
    with pytest.raises(kernels.KernelFileError, match="has the same name; rename one of them"):
        kernels.add_variant(write("other/mine.py"))
    (folder / "deeper").mkdir()
    for path in (folder / "a.py", folder / "deeper" / "a.py"):
        path.write_text("", encoding="utf-8")
    discover._files.cache_clear()
    with pytest.raises(kernels.KernelFileError, match=r"two kernels are named 'a'.*rename one"):
        kernels.names()
    path.rename(folder / "a__b.py")
    with pytest.raises(kernels.KernelFileError, match=r"a__b.py: two underscores.*rename the file"):
        kernels.names()


def test_a_file_becomes_a_variant_under_its_stem(write):
    path = write("mine.py", f"CONFIGS = ('a', 'b')\n{KERNEL}")
    assert kernels.add_variant(path) == kernels.add_variant(str(path)) == "mine"
    assert kernels.variant_file("mine") == path
    assert kernels.ops("mine") == {"softmax"}
    assert kernels.packages("mine") == {"torch"}
    assert kernels.load("mine").softmax.__code__.co_filename == str(path)
    assert "mine" not in kernels.names()
    assert "mine" in kernels.default_variants("softmax", ["mine"])
    assert "mine" not in kernels.default_variants("log_softmax", ["mine"])
    assert kernels.variant_file("mine__b") == path
    with pytest.raises(KeyError, match=r"did you mean mine__. or mine__."):
        kernels.variant_file("mine__c")


def test_constants_are_the_literals_of_a_module(write):
    for number, (line, on_request, configs) in enumerate(
        [
            ("ON_REQUEST = True", True, ()),
            ("ON_REQUEST: bool = True\nCONFIGS: tuple = ('a', 'b')", True, ("a", "b")),
            ("def f():\n    ON_REQUEST, CONFIGS = True, ('a',)\n    CONFIGS = ('b',)", False, ()),
            ("CONFIGS: tuple", False, ()),
        ]
    ):
        name = kernels.add_variant(write(f"mine{number}.py", f"{line}\n{KERNEL}"))
        assert (name not in kernels.default_variants("softmax", [name])) == on_request
        assert kernels.configs(name) == configs


# An expression, and literals of another type than the constant's.
WRONG_TYPES = ["CONFIGS = tuple('ab')", "CONFIGS = 5", "CONFIGS = 'w4'", "CONFIGS = (4, 8)"]


@pytest.mark.parametrize("line", [*WRONG_TYPES, "ON_REQUEST = 'no'"])
def test_a_constant_of_the_wrong_type_is_refused(write, line):
    path = write("mine.py", f"{line}\n{KERNEL}")
    with pytest.raises(kernels.KernelFileError) as caught:
        kernels.add_variant(path)
    allowed = "('w4', 'w8')" if "CONFIGS" in line else "True"
    assert str(caught.value) == f"{path}: {line}: it must be a literal, such as {allowed}"


def test_a_file_that_cannot_be_a_variant_is_refused(write):
    for name, words in (
        ("absent.py", "no such file"),
        ("mine.txt", "not a Python file"),
        ("_mine.py", "begins with a letter"),
        ("größer.py", "letters, digits and underscores"),
        ("my__kernel.py", "two underscores stand between a kernel and its config"),
        ("triton_row.py", "the project has a variant 'triton_row', too; rename the file"),
    ):
        path = write(name)
        if name == "absent.py":
            path.unlink()
        with pytest.raises(kernels.KernelFileError, match=words):
            kernels.add_variant(path)
        with pytest.raises(PointError, match=words):
            Point("cpu", variant=path.stem, dtype="float32", M=4, N=8, files=(str(path),))


def test_a_file_without_a_function_says_which_it_may_have(write):
    kernels.add_variant(write("mine.py", "def softmaks(x, out=None): ...\n"))
    with pytest.raises(
        TypeError, match=r"mine.py defines no function of these: cross_entropy\(x, target, out"
    ):
        kernels.load("mine")


@pytest.mark.parametrize("line", BESIDE)
def test_what_lies_beside_a_file_is_part_of_its_hash(write, line):
    helper = write("helper.py", "import nowhere_at_all\nf = 1\n")
    source, deeper = write("mine.cu", '#include "pack.cuh"\n'), write("deep/er.py", "")
    imports = f"{line}\nimport deep.er\nfrom kernels.tensors import empty_output\n'/tmp/x.cu'\n"
    path = write("mine.py", f"{imports}{KERNEL}")
    kernels.add_variant(path)
    ours = {Path(kernels.__file__).with_name(name) for name in ("tensors.py", "contract.py")}
    ours |= {dependencies.INCLUDE / name for name in ("pack.cuh", "types.cuh")}
    assert set(kernels.source_files("mine")) == {path, source, helper, deeper, *ours}
    before = kernels.kernel_sha256("mine")
    moved = shutil.copytree(path.parent, path.parent.with_name("there")) / "mine.py"
    forget()
    kernels.add_variant(moved)
    assert kernels.kernel_sha256("mine") == before, "the place of a file means nothing"
    moved.with_name("helper.py").write_text("f = 2\n", encoding="utf-8")
    forget()
    kernels.add_variant(moved)
    assert kernels.kernel_sha256("mine") != before


def test_what_lies_beside_a_file_is_imported_and_hides_no_installed_package(write):
    """In a new process, where nothing that is imported here hides what is missing there."""
    files = []
    write("json.py", "raise ImportError('not this one')\n")
    for i, line in enumerate(BESIDE):  # each with another helper, since all are loaded
        write(f"helper{i}.py", "f = 1\n")
        line = line.replace("helper", f"helper{i}")
        files.append(str(write(f"mine{i}.py", f"{line}\nimport json\n{KERNEL}")))
    code = (
        "import sys, kernels\n"
        "for i, path in enumerate(sys.argv[1:]):\n"
        "    kernels.add_variant(path); kernels.load(f'mine{i}')\n"
        "    names = kernels.loaded_modules(f'mine{i}')\n"
        "    names = sorted(name.rpartition('.')[2] for name in names)\n"
        "    assert names == [f'helper{i}', f'mine{i}'], names\n"
    )
    run_code(code, *files)
