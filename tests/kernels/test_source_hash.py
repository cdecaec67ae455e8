"""Two sources have one hash if they mean the same."""

import pytest

from kernels import code_sha256
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
int y = 1'000 - -x[0];  // one's third comment
"""


SAME = [  # (file, before, after): prose and white space
    ("a.py", '"""A docstring."""', '"""Another."""'),
    ("a.py", '"""Of a function."""', '"""Of several\n\n    lines."""'),
    ("a.py", "  # a comment", ""),
    ("a.py", "\n\n\nclass", "\n# mended\nclass"),
    ("a.py", '"""A docstring is all', '"""This is all'),
    ("a.cu", "// a comment", ""),
    ("a.cu", "{ x[0] =", "{\n  x[0]  ="),
    ("a.cu", '/* "here" */', ""),
    ("a.cu", "third comment", "last one"),  # a digit separator begins no string
]
OTHER = [  # code
    ("a.py", "import torch", "import numpy"),
    ("a.py", "# no comment", "# still none"),  # inside a string
    ("a.py", "# neither", "# nor this"),  # nor there, in single quotes
    ("a.py", "A string in", "A text in"),  # this is no docstring
    ("a.py", "    return", "return"),  # indentation
    ("a.py", "['a']", "['b']"),
    ("a.cu", "WIDTH 4", "WIDTH 8"),
    ("a.cu", "// no comment", "//"),
    ("a.cu", "x[0] = WIDTH", "x[0]=1"),
    ("a.cu", "- -x", "--x"),
    ("a.cu", "1'000", "1'001"),
    ("a.cu", "4  // another\n", "4 "),  # a directive ends with its line
]


@pytest.mark.parametrize("equal", [True, False])
def test_code_means_something_and_prose_nothing(tmp_path, equal):
    for number, (name, before, after) in enumerate(SAME if equal else OTHER):
        text = {"a.py": PYTHON, "a.cu": CUDA}[name]
        assert before in text
        paths = [tmp_path / f"{number}{letter}{name}" for letter in "xy"]  # nor does a file's name
        paths[0].write_text(text, encoding="utf-8")
        paths[1].write_text(text.replace(before, after), encoding="utf-8")
        assert (code_sha256(paths[:1]) == code_sha256(paths[1:])) == equal, (before, after)


def test_other_files_are_taken_as_they_are_in_any_order(tmp_path):
    paths = [tmp_path / name for name in ("broken.py", "table.csv")]
    for path in paths:
        path.write_text(f"def {path.stem}( # ?\n", encoding="utf-8")
        assert meaning(path) == path.read_bytes()
    assert code_sha256(paths) == code_sha256(paths[::-1]) != code_sha256(paths[:1])
