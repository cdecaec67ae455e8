"""Read facts about a kernel from the text of its files, without importing or running them."""

import ast
import contextlib
import functools
import re
import symtable
from collections.abc import Iterable
from pathlib import Path


class BadKernel(ValueError):
    """Refuse a file that cannot be a variant: the message says what is wrong, and what to do."""


@functools.cache
def syntax_nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return the nodes of a file's syntax tree, the module first; () if it does not parse."""
    try:
        return tuple(ast.walk(ast.parse(path.read_bytes(), filename=str(path))))
    except (SyntaxError, ValueError):
        return ()  # loading the file reports the error, in the row


@functools.cache
def literal(path: Path, name: str) -> tuple[str, ...] | bool | None:
    """Return the literal that a module assigns to CONFIGS or ON_REQUEST; None if there is none.

    Raises BadKernel for an expression, and for a literal of another type.
    """
    for node in syntax_nodes(path)[0].body if syntax_nodes(path) else ():
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=bound)], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id=bound), value=ast.expr() as value)
            ) if bound == name:
                return _checked_literal(value, path, name)
    return None


def _checked_literal(node: ast.expr, path: Path, name: str) -> tuple[str, ...] | bool:
    """Return the value of a node. Raises BadKernel unless it is a literal of the right type."""
    with contextlib.suppress(ValueError):
        match name, ast.literal_eval(node):
            case "ON_REQUEST", bool() as value:
                return value
            case "CONFIGS", [*values] if all(isinstance(value, str) for value in values):
                return tuple(values)
    example = "('w4', 'w8')" if name == "CONFIGS" else "True"
    given = ast.unparse(node)
    raise BadKernel(f"{path}: {name} = {given}: it must be a literal, such as {example}")


def docstring(path: Path) -> str:
    """Return the docstring of a file, or ""."""
    return next((ast.get_docstring(module) or "" for module in syntax_nodes(path)[:1]), "")


def defined_names(path: Path, names: Iterable[str]) -> frozenset[str]:
    """Return those of the names that a module binds; none if the file does not compile."""
    try:
        symbols = symtable.symtable(path.read_bytes(), str(path), "exec").get_symbols()
    except (SyntaxError, ValueError):  # such as a name that is used before its `global`
        return frozenset()
    bound = {symbol.get_name() for symbol in symbols if symbol.is_local()}
    return frozenset(bound.intersection(names))


@functools.cache
def imports(path: Path) -> frozenset[tuple[int, str]]:
    """Return the imports of a file: ``from ..a import b`` is (2, "a.b") and (2, "a")."""
    imported = set()
    for node in syntax_nodes(path):
        if isinstance(node, ast.Import):
            imported |= {(0, alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = [node.module] if node.module else []
            imported |= {(node.level, ".".join([*base, alias.name])) for alias in node.names}
            imported |= {(node.level, name) for name in base}
    return frozenset(imported)


def named_files(path: Path) -> set[str]:
    """Return the file names in a source.

    Of a CUDA source: the headers that it includes in quotes. Of a Python file: the strings that
    name a CUDA source or a table, or a pattern of such names.
    """
    if path.suffix != ".py":
        text = path.read_text("utf-8", "replace")
        return set(re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.MULTILINE))
    texts = {str(node.value) for node in syntax_nodes(path) if isinstance(node, ast.Constant)}
    return {text for text in texts if re.fullmatch(r"[\w*./-]+\.(cu|csv)", text)}
