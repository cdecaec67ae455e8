"""Files are UTF-8 whatever the locale, and output survives a terminal that lacks a character."""

import ast
import os
import subprocess
import sys

import pytest

from measure import ROOT
from tests.analysis import synthetic

PACKAGES = "analysis", "examples", "kernels", "measure", "planning", "studies", "tools", "workflow"
# Python reads files and prints in ASCII here.
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def is_text(call: ast.Call) -> bool:
    """Return whether a call reads or writes text, as far as its words tell."""
    name = ast.unparse(call.func)
    words = [ast.unparse(word) for word in (*call.args, *(k.value for k in call.keywords))]
    options = {keyword.arg for keyword in call.keywords}
    if name.endswith((".read_text", ".write_text")):
        return True
    if name.startswith("subprocess."):
        return "text" in options
    is_open = name == "open" or (name.endswith(".open") and name not in ("Image.open", "os.open"))
    if name == "gzip.open":
        return any("t'" in word for word in words)
    return is_open and not any("b'" in word for word in words)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_text_has_its_encoding(package):
    without = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and is_text(node)
        if not {"encoding", None} & {keyword.arg for keyword in node.keywords}
    ]
    assert not without


def outcome(*words: str, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True)


@pytest.mark.parametrize("encoding", ["gbk", "euc_jp", "shift_jis", "iso8859_2", "ascii"])
def test_an_exit_code_says_what_happened_whatever_the_terminal_lacks(encoding, tmp_path):
    rows = synthetic.with_speedups({"triton_row": 2}, (1024, 2048, 4096))
    table = str(synthetic.write_csv(tmp_path / "table.csv", rows))
    done = outcome("analysis", "compare", table, table, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert b"new ?s" in done.stdout or "new µs".encode(encoding, "replace") in done.stdout


def test_a_point_is_measured_and_listed_in_ascii(tmp_path):
    row = tmp_path / "row.csv"
    words = ["--M", "4", "--N", "8", "--variant", "torch_softmax", "--output", str(row)]
    done = outcome("measure", "point", *words, **ASCII)
    assert done.returncode == 0, done.stderr
    assert b" ?s " in done.stdout
    assert row.is_file()
    assert outcome("kernels", **ASCII).returncode == 0


def test_a_report_is_written_in_ascii():
    """With all that it reads: published tables, claims, docstrings, templates."""
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-k", "test_a_run_of_one_sweep"]
    done = outcome("pytest", "tests/analysis/test_report.py", *options, **ASCII)
    assert done.returncode == 0, done.stdout[-3000:]
