"""Hash code without its comments, docstrings, blank lines and file names.

So a row is measured again if code changes, but not if prose is edited or a file is moved. Python is
hashed as text that regular expressions have stripped, because the output of ``ast.dump`` and
``ast.unparse``, and with it the hash, would depend on the version of Python.
"""

import ast
import functools
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
STRING = r"""(?P<quote>\"{3}|'{3}|["'])(?:\\.|[^\\])*?(?P=quote)"""
NUMBER = r"\b\d(?:'?[\w.])*"  # the quote in 1'000 begins no string
# The first group matches code that might look like a comment.
PYTHON_PROSE = re.compile(rf"({STRING})|(?:[ \t]*(?:\#[^\n]*)?\n)+", re.DOTALL)
CUDA_PROSE = re.compile(rf"({NUMBER}|{STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
# Adjacent punctuation is one token: `a - -b` is not `a --b`. A directive ends with its line.
CUDA_TOKEN = re.compile(rf"(?m:^)[ \t]*\#[^\n]*|{NUMBER}|{STRING}|\w+|[^\w\s\"']+|[\"']", re.DOTALL)


def code_sha256(paths: Iterable[Path]) -> str:
    """Return the SHA-256 over the code of these files, regardless of their order."""
    hashes = sorted(_sha256_of_file(path, path.stat().st_mtime_ns) for path in paths)
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


@functools.cache
def _sha256_of_file(path: Path, changed: int) -> str:
    """Return the SHA-256 of a file; ``changed``, its time, keeps edits out of the cache."""
    return hashlib.sha256(meaning(path)).hexdigest()


def meaning(path: Path) -> bytes:
    """Return the content of a file, without what compilers ignore if it is Python or CUDA C++."""
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
