"""A forked child writes what ``python -m measure point`` writes."""

import csv
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from measure.fingerprint import ROOT
from measure.point import Point
from measure.row import samples_path
from planning import points
from studies import forked

pytestmark = pytest.mark.slow  # an experiment that no sweep runs

# Runs the points given as JSON below the folder given; prints the rows that it returns, as JSON.
RUN = """
import json, sys
from measure.point import Point
from studies import forked
points = [Point(**fields) for fields in json.loads(sys.argv[1])]
rows = forked.run(points, sys.argv[2], lambda text: print(text, file=sys.stderr))
print(json.dumps(rows))
"""
TINY = {"gpu": "cpu", "dtype": "float32", "M": 8, "N": 32, "time_budget_s": 0.05}


def run(code, *words):
    """A fresh interpreter, on the CPU, without the tests' threads and Triton's interpreter."""
    environ = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environ |= {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, *code, *words]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True)


def read(path):
    with path.open(newline="") as file:
        (row,) = csv.DictReader(file)
    return row


def series(row_path):
    with gzip.open(samples_path(row_path), "rt") as file:
        return {line["series"] for line in csv.DictReader(file)}


@pytest.fixture(scope="module")
def forks(tmp_path_factory):
    """Points, the folder below which their rows were written, and what the runner said."""
    root = tmp_path_factory.mktemp("rows")
    points = [
        Point(variant="torch_softmax", **TINY),
        Point(variant="torch_naive", **TINY | {"timeout_s": 0.001}),
        Point(variant="triton_row", **TINY),
    ]
    done = run(["-c", RUN], json.dumps([p.as_dict() for p in points]), str(root))
    return points, root, done


def test_rows_are_those_of_measure_point(forks, tmp_path):
    (point, *_), root, _ = forks
    by_hand = tmp_path / "row.csv"
    run(["-m", "measure", "point", "--output", str(by_hand)], *points.options(point))
    forked_row, row = read(root / forked.cell(point)), read(by_hand)
    assert list(forked_row) == list(row)
    assert {k for k, v in forked_row.items() if v} == {k for k, v in row.items() if v}
    same = ("gpu_name", "status", "seed", "measure_sha256", "kernel_sha256", "max_abs_error")
    assert [forked_row[k] for k in same] == [row[k] for k in same]
    assert series(root / forked.cell(point)) == series(by_hand)


def test_a_point_without_a_row_does_not_end_the_others(forks):
    points, root, done = forks
    rows = json.loads(done.stdout)
    assert [row["status"] for row in rows] == ["ok", forked.NO_ROW, "interpreted"]
    assert "before it had opened the device" in rows[1]["message"]
    assert [(root / forked.cell(point)).exists() for point in points] == [True, False, True]
    words = [line.split()[:2] for line in done.stderr.splitlines() if "eta" in line]
    assert words == [["1/3", "torch_softmax"], ["2/3", "torch_naive"], ["3/3", "triton_row"]]
    assert "fresh Python" not in done.stderr


def test_cells_lie_as_in_a_sweep():
    point = Point(variant="triton_row", **TINY)
    assert Path("results/cells") / forked.cell(point) == Path(points.row_path(point))
