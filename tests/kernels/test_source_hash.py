"""Two sources have one hash if they mean the same."""

import pytest

from kernels import digest
from kernels.registry.source_hash import meaning

PYTHON = '''"""A docstring."""

import torch  # a comment


def f(x):
    """Of a function."""
    y = "# no comment"
    z = \'\'\'two lines
    # neither\'\'\'
    """A string in the middle of a body stays."""
    return f"{x['a']} # {y}"


class Empty:
    """A docstring is all it has."""
'''
CUDA = """// a comment
#define WIDTH 4  // another
__global__ void f(float* x) { x[0] = WIDTH; /* "here" */ }
const char* text = "// no comment";
"""


def hash_of(folder, text, name):
    (folder / name).write_text(text)
    return digest([folder / name])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"""A docstring."""', '"""Another."""'),
        ('"""Of a function."""', '"""Of several\n\n    lines."""'),
        ("  # a comment", ""),
        ("\n\n\nclass", "\n# mended\nclass"),
        ('"""A docstring is all', '"""This is all'),
    ],
)
def test_prose_of_python_means_nothing(tmp_path, before, after):
    assert before in PYTHON
    changed = hash_of(tmp_path, PYTHON.replace(before, after), "b.py")
    assert changed == hash_of(tmp_path, PYTHON, "a.py"), "nor does the name of the file"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch", "import numpy"),
        ("# no comment", "# still none"),  # inside a string
        ("# neither", "# nor this"),  # nor there, in single quotes
        ("A string in", "A text in"),  # which is no docstring
        ("    return", "return"),  # indentation
        ("['a']", "['b']"),
    ],
)
def test_code_of_python_means_something(tmp_path, before, after):
    assert before in PYTHON
    changed = hash_of(tmp_path, PYTHON.replace(before, after), "a.py")
    assert changed != hash_of(tmp_path, PYTHON, "a.py")


def test_comments_and_white_space_of_cuda_mean_nothing_and_its_code_does(tmp_path):
    before = hash_of(tmp_path, CUDA, "a.cu")
    for old, new in (("// a comment", ""), ("{ x[0] =", "{\n  x[0]  ="), ('/* "here" */', "")):
        assert hash_of(tmp_path, CUDA.replace(old, new), "a.cu") == before
    for old, new in (("WIDTH 4", "WIDTH 8"), ("// no comment", "//"), ("x[0] = WIDTH", "x[0]=1")):
        assert hash_of(tmp_path, CUDA.replace(old, new), "a.cu") != before
    # a directive ends with its line
    joined = CUDA.replace("4  // another\n", "4 ")
    assert hash_of(tmp_path, joined, "a.cu") != before


def test_what_does_not_parse_and_other_files_are_taken_as_they_are(tmp_path):
    for name in ("broken.py", "table.csv"):
        (tmp_path / name).write_text("def f( # ?\n")
        assert meaning(tmp_path / name) == b"def f( # ?\n"


def test_the_order_of_files_does_not_matter_and_an_edit_is_noticed(tmp_path):
    a, b = tmp_path / "a.py", tmp_path / "b.py"
    a.write_text("x = 1\n")
    b.write_text("x = 2\n")
    assert digest([a, b]) == digest([b, a]) != digest([a])
    before = digest([a])
    a.write_text("x = 33\n")
    assert digest([a]) != before
