"""``python -m studies.cheats`` prints every cheat of the tests, and what catches it."""

import ast
from pathlib import Path

CHEATS = Path(__file__).resolve().parent.parent / "tests" / "measure" / "cheats"


def told(path: Path) -> tuple[str, str]:
    """(what a cheat does, what catches it) from its docstring."""
    text = ast.get_docstring(ast.parse(path.read_text()))
    cheat, caught = (" ".join(part.split()) for part in text.split("\n\n"))
    return cheat.removeprefix("Cheat: "), caught.removeprefix("Caught by: ")


def table() -> str:
    """A line per cheat; those that need a GPU come last."""
    lines = ["| cheat | what it does | what the row says |", "|---|---|---|"]
    paths = sorted(CHEATS.glob("*.py"), key=lambda path: (path.stem.startswith("gpu_"), path.stem))
    for path in paths:
        cheat, caught = told(path)
        begins = " or ".join(f"“{part}…”" for part in caught.split(" or "))
        lines.append(f"| `{path.stem}` | {cheat} | {begins} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
