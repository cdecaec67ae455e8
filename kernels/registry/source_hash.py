"""The identity of code: a hash over what its sources mean, not over how they are written.

Rows carry it, and are measured again when it changes. Comments, docstrings and blank lines are not
part of it, nor are the names of files: prose may be mended and files moved, and no row is lost.
"""

import ast
import functools
import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

STRING = (
    r'"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
)
LINE_END = r"[ \t]*(?:\#[^\n]*)?\n"
PYTHON_TEXT = re.compile(rf"({STRING})|(?:{LINE_END})+", re.DOTALL)
CUDA_TEXT = re.compile(rf"({STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
CUDA_WORD = re.compile(rf"{STRING}|\w+|[^\w\s]")


def digest(paths: Iterable[Path]) -> str:
    """Return the SHA-256 over the meaning of these files, in whatever order they are given."""
    each = sorted(_digest_of_file(path, path.stat().st_mtime_ns) for path in paths)
    return hashlib.sha256("\n".join(each).encode()).hexdigest()


@functools.cache
def _digest_of_file(path: Path, changed: int) -> str:
    """``changed``: the file's time, so that an edited file is read anew."""
    return hashlib.sha256(meaning(path)).hexdigest()


def meaning(path: Path) -> bytes:
    """Return a Python or CUDA file without what no compiler reads; any other file as it is."""
    content = path.read_bytes()
    try:
        if path.suffix == ".py":
            return _python(content).encode()
        if path.suffix in (".cu", ".cuh"):
            return "\0".join(_cuda(content.decode())).encode()
    except (SyntaxError, ValueError):
        pass  # what is wrong with it is for its compiler to say
    return content


def _python(source: bytes) -> str:
    """Return Python without comments, docstrings and blank lines."""
    lines = source.splitlines(keepends=True)
    for text in _docstrings(ast.parse(source)):
        first, last = text.lineno - 1, text.end_lineno - 1
        rest = lines[last][text.end_col_offset :]
        lines[first : last + 1] = [lines[first][: text.col_offset] + rest, *[b""] * (last - first)]
    return PYTHON_TEXT.sub(lambda found: found[1] or "\n", b"".join(lines).decode()).lstrip("\n")


def _docstrings(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the docstrings in a module, and of the classes and functions in it."""
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        for number, statement in enumerate(getattr(node, field, ())):
            value = getattr(statement, "value", None)
            if number == 0 and isinstance(statement, ast.Expr) and isinstance(value, ast.Constant):
                if field == "body" and isinstance(value.value, str):
                    yield value
            else:
                yield from _docstrings(statement)


def _cuda(source: str) -> Iterator[str]:
    """Yield the directives of CUDA C++, and the words and signs between them."""
    text = CUDA_TEXT.sub(lambda found: found[1] or " ", source.replace("\\\n", " "))
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            yield "\n" + " ".join(line.split())  # it ends with its line
        else:
            yield from CUDA_WORD.findall(line)
