"""Files are UTF-8 whatever the locale, and output survives a terminal that lacks a character."""

import codecs
import os
import subprocess
import sys

import pytest

from analysis import InputError, recorded, row_files
from measure import ROOT
from measure.row import read_row as read_row_as_measured
from tests.analysis import synthetic
from tests.bench import read_row

# Python reads files and prints in ASCII here.
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}

KERNEL = """\
import torch
def softmax(x, out=None):
    print("µ")
    return torch.softmax(x, -1, out=out)
"""


def outcome(*words: str, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True)


def test_a_point_is_measured_and_listed_in_ascii(tmp_path):
    """With a kernel that itself prints what the terminal lacks."""
    row, mine = tmp_path / "row.csv", tmp_path / "mine.py"
    mine.write_text(KERNEL, encoding="utf-8")
    words = ["--M", "4", "--N", "8", "--kernel", str(mine), "--output", str(row)]
    done = outcome("measure", "point", *words, **ASCII)
    assert done.returncode == 0, done.stderr
    assert b" ?s " in done.stdout
    assert read_row(row)["status"] == "ok"
    assert outcome("kernels", **ASCII).returncode == 0


def test_a_report_is_written_in_ascii():
    """With all that it reads: published tables, claims, docstrings, templates."""
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-k", "test_a_run_of_one_sweep"]
    done = outcome("pytest", "tests/analysis/test_report.py", *options, **ASCII)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("read", [row_files.read_row_file, read_row_as_measured])
def test_a_table_may_begin_with_a_byte_order_mark(read, tmp_path):
    """Spreadsheets write one."""
    path = synthetic.write_row(tmp_path, synthetic.row())
    plain = read(path)
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert read(path) == plain


def test_an_argument_in_another_encoding_does_not_end_a_writer(tmp_path):
    path = tmp_path / "report.md"
    row_files.write(path, os.fsdecode(b"make ARGS=f\xfcnf.yaml"))
    assert path.read_text(encoding="utf-8") == "make ARGS=f\\udcfcnf.yaml"


@pytest.mark.parametrize("content", [b"", b"command: [", b"[]", b"rows: 3", b"command: f\xfcnf"])
def test_the_provenance_of_a_recorded_table_is_refused_by_name(content, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"mine\.yaml: has no command"):
        recorded.read_command(path)
