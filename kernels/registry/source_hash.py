"""Hash code without its comments, docstrings, blank lines and file names.

A row is measured again when its hash changes, but not when prose is edited or a file is moved.
Python is hashed as text, stripped by regular expressions: ``ast.dump`` and ``ast.unparse`` give
other text in other versions of Python, so a hash would depend on the version.
"""

import ast
import functools
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
STRING = r"""(?P<quote>\"{3}|'{3}|["'])(?:\\.|[^\\])*?(?P=quote)"""
NUMBER = r"\b\d(?:'?[\w.])*"  # 1'000 begins no string
# The first group is code that might look like a comment.
PYTHON_PROSE = re.compile(rf"({STRING})|(?:[ \t]*(?:\#[^\n]*)?\n)+", re.DOTALL)
CUDA_PROSE = re.compile(rf"({NUMBER}|{STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
# Adjacent punctuation is one token: `a - -b` is not `a --b`. A directive ends with its line.
CUDA_TOKEN = re.compile(rf"(?m:^)[ \t]*\#[^\n]*|{NUMBER}|{STRING}|\w+|[^\w\s\"']+|[\"']", re.DOTALL)


def code_sha256(paths: Iterable[Path]) -> str:
    """Return the SHA-256 over the meaning of these files, in any order."""
    hashes = sorted(_sha256_of_file(path, path.stat().st_mtime_ns) for path in paths)
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


@functools.cache
def _sha256_of_file(path: Path, changed: int) -> str:
    """Return the SHA-256 of a file; ``changed``, its time, makes an edited file a new key."""
    return hashlib.sha256(meaning(path)).hexdigest()


def meaning(path: Path) -> bytes:
    """Return a Python or CUDA file without what compilers ignore; any other file unchanged."""
    content = path.read_bytes()
    try:
        if path.suffix == ".py":
            return _python(content).encode()
        if path.suffix in (".cu", ".cuh"):
            return _cuda(content.decode()).encode()
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
            remainder = lines[last][text.end_col_offset :]
            lines[first] = lines[first][: text.col_offset] + remainder
            lines[first + 1 : last + 1] = [b""] * (last - first)
    text = b"".join(lines).decode()
    return PYTHON_PROSE.sub(lambda match: match[1] or "\n", text).lstrip("\n")


def _cuda(source: str) -> str:
    """Return the tokens of CUDA C++ without comments; a directive is one token."""
    text = CUDA_PROSE.sub(lambda match: match[1] or " ", source.replace("\\\n", " "))
    tokens = (match[0] for match in CUDA_TOKEN.finditer(text))
    return "\0".join(
        "\n" + " ".join(token.split()) if token.lstrip().startswith("#") else token
        for token in tokens
    )
