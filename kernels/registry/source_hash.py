"""Hash code without its comments, docstrings, blank lines and file names.

A row is measured again when its hash changes, but not when prose is edited or a file is moved.
Python is hashed as text, stripped by regular expressions: ``ast.dump`` and ``ast.unparse`` give
other text in other versions of Python, so a hash would depend on the version.
"""

import ast
import functools
import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
STRING = (
    r'"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
)
NUMBER = r"\b\d(?:'?[\w.])*"  # 1'000 begins no string
LINE_END = r"[ \t]*(?:\#[^\n]*)?\n"
PYTHON_TEXT = re.compile(rf"({STRING})|(?:{LINE_END})+", re.DOTALL)
CUDA_TEXT = re.compile(rf"({NUMBER}|{STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
# Adjacent punctuation is one token: `a - -b` is not `a --b`.
CUDA_TOKEN = re.compile(rf"{NUMBER}|{STRING}|\w+|[^\w\s\"']+|[\"']")


def code_sha256(paths: Iterable[Path]) -> str:
    """Return the SHA-256 over the meaning of these files, in any order."""
    hashes = sorted(_digest_of_file(path, path.stat().st_mtime_ns) for path in paths)
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


@functools.cache
def _digest_of_file(path: Path, changed: int) -> str:
    """Return the SHA-256 of a file; ``changed``, its time, makes an edited file a new key."""
    return hashlib.sha256(meaning(path)).hexdigest()


def meaning(path: Path) -> bytes:
    """Return a Python or CUDA file without what compilers ignore; any other file unchanged."""
    content = path.read_bytes()
    try:
        if path.suffix == ".py":
            return _python(content).encode()
        if path.suffix in (".cu", ".cuh"):
            return "\0".join(_cuda(content.decode())).encode()
    except (SyntaxError, ValueError):
        pass  # its compiler will report the error
    return content


def _python(source: bytes) -> str:
    """Return Python without comments, docstrings and blank lines."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            first, last = text.lineno - 1, text.end_lineno - 1
            rest = lines[last][text.end_col_offset :]
            lines[first] = lines[first][: text.col_offset] + rest
            lines[first + 1 : last + 1] = [b""] * (last - first)
    return PYTHON_TEXT.sub(lambda match: match[1] or "\n", b"".join(lines).decode()).lstrip("\n")


def _cuda(source: str) -> Iterator[str]:
    """Yield the directives of CUDA C++, and the tokens between them."""
    text = CUDA_TEXT.sub(lambda match: match[1] or " ", source.replace("\\\n", " "))
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            yield "\n" + " ".join(line.split())  # a directive ends with its line
        else:
            yield from CUDA_TOKEN.findall(line)
