"""docs/faq.md quotes what the code says, word for word."""

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest

from measure.fingerprint import ROOT

QUOTED = re.findall(r"^### `(.+)`$", (ROOT / "docs/faq.md").read_text(), re.MULTILINE)
ROOMS = ("kernels", "measure", "workflow", "analysis")


@cache
def texts() -> str:
    """Every text in the code of the project and in Snakemake's, … for what is filled in."""
    snakemake = Path(importlib.util.find_spec("snakemake").origin).parent
    files = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    files += [snakemake / "exceptions.py", snakemake / "deployment" / "conda.py"]
    found = []
    for path in files:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.JoinedStr):
                parts = (p.value if isinstance(p, ast.Constant) else "…" for p in node.values)
                found.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return re.sub("…+", "…", "\n".join(found))


def test_there_are_messages():
    assert len(QUOTED) > 30


@pytest.mark.parametrize("message", QUOTED)
def test_a_message_is_one_that_the_code_has(message):
    assert message in texts()


def test_a_made_up_message_is_not_found():
    assert "the kernel is tired" not in texts()
