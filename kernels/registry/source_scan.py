"""Read facts about a kernel from the text of its files, without importing or running them."""

import ast
import functools
import re
import symtable
from collections.abc import Iterable
from pathlib import Path


class BadKernel(ValueError):
    """A file that cannot be a variant: says what was given, and what to do."""


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return the nodes of a file's syntax tree, the module first; () if it does not parse."""
    try:
        return tuple(ast.walk(ast.parse(path.read_bytes(), filename=str(path))))
    except (SyntaxError, ValueError):
        return ()  # loading the file reports the error, in its own row


@functools.cache
def constant(path: Path, name: str) -> object:
    """Return the literal that a module assigns to a name, or None. Raises BadKernel for others."""
    for node in nodes(path)[0].body if nodes(path) else ():
        match node:
            case ast.Assign(targets=[ast.Name(id=bound)], value=ast.expr() as value):
                pass
            case ast.AnnAssign(target=ast.Name(id=bound), value=ast.expr() as value):
                pass
            case _:
                continue
        if bound == name:
            try:
                return ast.literal_eval(value)
            except ValueError:
                example = "('w4', 'w8') or True"
                raise BadKernel(f"{path}: {name} must be a literal, such as {example}") from None
    return None


def docstring(path: Path) -> str:
    """Return the docstring of a file, or ""."""
    return next((ast.get_docstring(module) or "" for module in nodes(path)[:1]), "")


def defined(path: Path, names: Iterable[str]) -> frozenset[str]:
    """Return those of the names that a module defines, by def, import or assignment."""
    if not nodes(path):
        return frozenset()
    symbols = symtable.symtable(path.read_text(), str(path), "exec").get_symbols()
    bound = {symbol.get_name() for symbol in symbols if symbol.is_local()}
    return frozenset(bound.intersection(names))


@functools.cache
def imports(path: Path) -> frozenset[tuple[int, str]]:
    """Return the imports of a file: ``from ..a import b`` is (2, "a.b") and (2, "a")."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {(0, alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = [node.module] if node.module else []
            found |= {(node.level, ".".join([*base, alias.name])) for alias in node.names}
            found |= {(node.level, name) for name in base}
    return frozenset(found)


def named_files(path: Path) -> set[str]:
    """Return the files that a source names: those a CUDA source includes in quotes, or the CUDA
    sources and tables, or patterns of them, that a Python file has as strings.
    """
    if path.suffix != ".py":
        return set(re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE))
    texts = {str(node.value) for node in nodes(path) if isinstance(node, ast.Constant)}
    return {text for text in texts if re.fullmatch(r"[\w*./-]+\.(cu|csv)", text)}
