"""Read facts about a kernel from the text of its files, without importing or running them."""

import ast
import functools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Import(NamedTuple):
    """An import of a Python file: ``from ..a import b`` is a.b with 2 dots."""

    dots: int
    name: str

    @property
    def top(self) -> str:
        return self.name.partition(".")[0]


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return the nodes of a file's syntax tree, the module first; () if it does not parse."""
    try:
        return tuple(ast.walk(ast.parse(path.read_bytes(), filename=str(path))))
    except (SyntaxError, ValueError):
        return ()  # loading the file reports the error, in its own row


@functools.cache
def constant(path: Path, name: str) -> object:
    """Return the literal that a file assigns to a name, or None."""
    for node in nodes(path):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    return None


def docstring(path: Path) -> str:
    """Return the docstring of a file, or ""."""
    tree = nodes(path)
    return (ast.get_docstring(tree[0]) if tree else None) or ""


def defined(path: Path, names: Iterable[str]) -> frozenset[str]:
    """Return those of the names that a module defines, by def, import or assignment."""
    tree = nodes(path)
    body = tree[0].body if tree else []
    return frozenset(name for node in body for name in names if _binds(node, name))


def _binds(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name == name
    if isinstance(node, ast.Import | ast.ImportFrom):
        return any(name == (alias.asname or alias.name) for alias in node.names)
    targets = node.targets if isinstance(node, ast.Assign) else ()
    parts = (part for target in targets for part in ast.walk(target))  # a, b = … gives both
    return any(isinstance(p, ast.Name) and p.id == name and _is_bound(p) for p in parts)


def _is_bound(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)  # in a[b] = … both are only read


@functools.cache
def imports(path: Path) -> frozenset[Import]:
    """Return the imports of a file; of a from-import, with and without the imported name."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {Import(0, alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = [node.module] if node.module else []
            found |= {Import(node.level, ".".join([*base, a.name])) for a in node.names}
            found |= {Import(node.level, name) for name in base}
    return frozenset(found)


def named_files(path: Path) -> set[str]:
    """Return the CUDA sources and tables that a Python file names, or patterns of them."""
    texts = {str(node.value) for node in nodes(path) if isinstance(node, ast.Constant)}
    return {text for text in texts if re.fullmatch(r"[\w*./-]+\.(cu|csv)", text)}


def includes(path: Path) -> list[str]:
    """Return the names of the files that a CUDA source includes in quotes."""
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE)
