"""Rows of other code than the current one: refused when measured, marked when recorded."""

import csv

import pytest

from analysis import InputError, frame
from analysis.merge import collect, merge_rows
from analysis.report.document import environment
from tests.analysis import synthetic

HASHES = ("kernel_sha256", "measure_sha256")
CURRENT = dict.fromkeys(HASHES, "1" * 64)


@pytest.fixture
def expected(tmp_path):
    """results/expected.csv for triton_row on an H200."""
    line = {"gpu": "h200", "variant": "triton_row"} | CURRENT
    path = tmp_path / "expected.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([line.keys(), line.values()])
    return path


def test_rows_of_the_current_code_are_merged(expected, tmp_path):
    file = synthetic.write_row(tmp_path, synthetic.row(variant="triton_row", **CURRENT))
    assert merge_rows([file], "s", tmp_path / "merged.csv", expected) == 1


@pytest.mark.parametrize("column", HASHES)
def test_rows_of_other_code_are_not_merged(expected, tmp_path, column):
    values = CURRENT | {column: "7"}
    file = synthetic.write_row(tmp_path, synthetic.row(variant="triton_row", **values))
    with pytest.raises(InputError) as raised:
        merge_rows([file], "s", tmp_path / "merged.csv", expected)
    assert str(file) in str(raised.value)
    assert f"({column} differ)" in str(raised.value)
    assert not (tmp_path / "merged.csv").exists()


def test_recorded_rows_of_other_code_are_marked_kept_and_reported(expected, tmp_path):
    rows = [
        synthetic.row(variant="triton_row", N=8, **CURRENT),
        synthetic.row(variant="triton_row", N=9, **CURRENT | {"kernel_sha256": "7"}),
        synthetic.row(variant="torch_softmax", N=8, **CURRENT),  # no longer in the project
    ]
    table = synthetic.write_csv(tmp_path / "recorded" / "h200" / "mine.csv", rows)
    out = tmp_path / "all.csv"
    collect([], [table], out, expected_file=expected)
    found = frame.load(out)
    stale = found.set_index(["variant", "N"])["stale"].to_dict()
    assert stale == {
        ("triton_row", 8): "false",
        ("triton_row", 9): "true",
        ("torch_softmax", 8): "true",
    }
    assert "measured 2 of these rows, in the sweeps mine" in environment(found)[-1].text
    collect([], [table], out)
    assert set(frame.load(out)["stale"]) == {"false"}
