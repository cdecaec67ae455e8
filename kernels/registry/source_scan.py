"""Read facts about a kernel from the text of its files, without importing or running them."""

import ast
import contextlib
import functools
import re
import symtable
from collections.abc import Iterable
from pathlib import Path


class KernelFileError(ValueError):
    """Refuse a file that cannot be a variant; the message says what is wrong and what to do."""


@functools.cache
def parsed(path: Path) -> ast.Module:
    """Return a file's syntax tree, which is empty if the file does not parse."""
    try:
        return ast.parse(path.read_bytes(), filename=str(path))
    except (SyntaxError, ValueError):
        return ast.Module([], [])  # loading the file will report the error, in the row


def docstring(path: Path) -> str:
    """Return the docstring of a file, or ""."""
    return ast.get_docstring(parsed(path)) or ""


@functools.cache
def literal(path: Path, name: str) -> tuple[str, ...] | bool | None:
    """Return the literal that a module assigns to CONFIGS or ON_REQUEST; None if it does not.

    Raises KernelFileError if the value is not a literal, or is of the wrong type.
    """
    for node in parsed(path).body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=bound)], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id=bound), value=ast.expr() as value)
            ) if bound == name:
                break
    else:
        return None
    with contextlib.suppress(ValueError):
        match name, ast.literal_eval(value):
            case "ON_REQUEST", bool() as on_request:
                return on_request
            case "CONFIGS", [*configs] if all(isinstance(config, str) for config in configs):
                return tuple(configs)
    example = "('w4', 'w8')" if name == "CONFIGS" else "True"
    assignment = f"{path}: {name} = {ast.unparse(value)}"
    raise KernelFileError(f"{assignment}: it must be a literal, such as {example}")


def defined_names(path: Path, names: Iterable[str]) -> frozenset[str]:
    """Return which of the names a module binds; none if the file does not compile."""
    try:
        symbols = symtable.symtable(path.read_bytes(), str(path), "exec").get_symbols()
    except (SyntaxError, ValueError):  # a name may be used before its `global`
        return frozenset()
    bound = {symbol.get_name() for symbol in symbols if symbol.is_local()}
    return frozenset(bound.intersection(names))


@functools.cache
def imports(path: Path) -> frozenset[tuple[int, str]]:
    """Return the imports of a file: ``from ..a import b`` is (2, "a.b") and (2, "a")."""
    imported = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            imported |= {(0, alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = [node.module] if node.module else []
            imported |= {(node.level, ".".join([*base, alias.name])) for alias in node.names}
            imported |= {(node.level, name) for name in base}
    return frozenset(imported)


def named_files(path: Path) -> set[str]:
    """Return the file names in a source: quoted headers if it is CUDA C++.

    If it is Python, these are the strings that name a CUDA source by a relative path.
    """
    if path.suffix != ".py":
        text = path.read_text(encoding="utf-8", errors="replace")
        return set(re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE))
    constants = (n for n in ast.walk(parsed(path)) if isinstance(n, ast.Constant))
    texts = {str(constant.value) for constant in constants}
    return {text for text in texts if re.fullmatch(r"[\w.-][\w./-]*\.cu", text)}
