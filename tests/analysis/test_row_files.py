"""The reader accepts rows of the schema and names what is wrong with anything else."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import operations
from analysis import InputError, row_files, schema
from kernels import DTYPES
from measure.point import DISTRIBUTIONS
from tests.analysis import synthetic
from tests.analysis.conftest import EXAMPLES, TEXTS


@pytest.fixture
def row_file(tmp_path):
    return synthetic.write_row(tmp_path, synthetic.row())


def test_schema_is_the_contract():
    assert schema.COLUMNS[:7] == schema.POINT
    assert len(schema.COLUMNS) == len(set(schema.COLUMNS))
    kinds = {"str", "int", "float", "bool"}
    assert {column.type for column in schema.SCHEMA.values()} == kinds
    pattern, _ = schema.VALUES["op"]  # operations from elsewhere, too
    assert all(re.fullmatch(pattern, name) for name in operations.names())
    assert not re.fullmatch(pattern, "../softmax")
    assert schema.SCHEMA["dtype"].allowed == tuple(DTYPES)
    assert schema.SCHEMA["distribution"].allowed == DISTRIBUTIONS


def test_wrong_header_names_the_column(row_file):
    text = row_file.read_text(encoding="utf-8")
    for old, new, complaint in (
        ("speedup_low,", "", "column speedup_low is missing"),
        ("wall_s\n", "wall_s,extra\n", "column extra is unknown"),
        ("gpu,op,", "gpu,gpu,", "column op is missing"),
        ("wall_s\n", "wall_s,gpu\n", "column gpu comes twice"),
    ):
        row_file.write_text(text.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(InputError, match=f"12345678.1.csv: wrong header: {complaint}"):
            row_files.read_row_file(row_file)


def test_nan_is_an_accuracy_and_columns_may_come_in_any_order(tmp_path):
    wrong = {"status": "incorrect", "max_abs_error": "nan", "max_rel_error": "inf"}
    row = synthetic.row(**wrong)
    path = tmp_path / "x.csv"
    path.write_text(row_files.csv_text([*row][::-1], [row]), encoding="utf-8")
    assert row_files.read_row_file(path) == row


def test_value_that_is_not_allowed(tmp_path):
    for change, complaint in (
        ({"time_us": "fast"}, "time_us is 'fast', expected a finite number"),
        ({"time_us": "nan"}, "time_us is 'nan', expected a finite number"),
        ({"time_us": "0"}, "time_us is '0', expected a number from 1e-15 to 1e\\+15"),
        ({"speedup": "-1"}, "speedup is '-1', expected a number from 1e-15"),
        ({"speedup_low": "1e-320"}, "speedup_low is '1e-320', expected a number from 1e-15"),
        ({"of_copy": "1e308"}, "of_copy is '1e308', expected a number from 1e-15"),
        ({"wall_s": "1e999"}, "wall_s is '1e999', expected a number from -1e\\+15"),
        ({"N": "0"}, "N is '0', expected a number from 1"),
        ({"M": "-4"}, "M is '-4', expected a number from 1"),
        ({"N": str(2**63)}, "N is '9223372036854775808', expected a number from 1"),
        ({"M": str(2**30), "N": str(2**30)}, "M·N is 1152921504606846976, more than 57646075"),
        ({"blocks": "٣"}, "blocks is '٣', expected a whole number"),
        ({"gpu_name": "H200\x1b[31m"}, "expected a line of at most 1000 printable letters"),
        ({"driver": "5" * 1001}, "expected a line of at most 1000 printable letters"),
        ({"registers": "9" * 30}, "expected a whole number"),
        ({"gpu": "../../out"}, "gpu is '../../out', expected lower-case letters, digits"),
        ({"variant": "x/../y"}, "variant is 'x/../y', expected letters, digits"),
        ({"n_samples": "4.5"}, "n_samples is '4.5', expected a whole number"),
        ({"git_dirty": "yes"}, "git_dirty is 'yes', expected true or false"),
        ({"status": "fine"}, "status is 'fine', expected one of ok, interpreted"),
        ({"status": ""}, "status is empty"),
        ({"speedup": ""}, "speedup is empty"),  # columns of an ok row
        ({"flags": "throttled hot"}, "flags is 'throttled hot', expected one of aa_biased"),
    ):
        path = synthetic.write_csv(tmp_path / "x.csv", [synthetic.row() | change])
        with pytest.raises(InputError, match=complaint):
            row_files.read_rows(path)


def test_a_sweep_of_a_foreign_table_names_no_folder(tmp_path):
    """Figures would lie outside of the folder that was asked for."""
    table = [synthetic.row() | {"sweep": "x/../../out", "origin": "measured"}]
    path = synthetic.write_csv(tmp_path / "x.csv", table, schema.SOURCE_COLUMNS)
    with pytest.raises(InputError, match=r"sweep is 'x/\.\./\.\./out', expected lower-case"):
        row_files.read_rows(path, None)


def test_a_row_file_has_one_row_in_its_place(row_file):
    synthetic.write_csv(row_file, [synthetic.row(), synthetic.row()])
    with pytest.raises(InputError, match="2 rows, expected one"):
        row_files.read_row_file(row_file)
    synthetic.write_csv(row_file, [synthetic.row(N=2048)])
    with pytest.raises(InputError, match=r"belongs at .*/M1024_N2048/"):
        row_files.read_row_file(row_file)


def test_file_that_is_no_text(tmp_path):
    path = tmp_path / "x.csv"
    with pytest.raises(InputError, match=r"x\.csv: no such"):
        row_files.read_rows(path)
    for content, complaint in ((b"", "empty"), (b"\xff\xfe\0", "not readable")):
        path.write_bytes(content)
        with pytest.raises(InputError, match=rf"x\.csv: {complaint}"):
            row_files.read_rows(path)


@settings(EXAMPLES, max_examples=15)  # each is cut at fifty places
@given(TEXTS, st.sampled_from(["ok", "crash"]), st.data())
def test_a_row_file_cut_anywhere_is_refused_by_name(tmp_path_factory, message, status, data):
    path = tmp_path_factory.getbasetemp() / "cut.csv"
    synthetic.write_csv(path, [synthetic.row(status=status, message=message)])
    whole = path.read_bytes()
    # Every byte of the last line's end, where a cut is easy to miss, and some of the others.
    some = data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=40))
    for end in {*some, *range(len(whole) - 12, len(whole))}:
        path.write_bytes(whole[:end])
        with pytest.raises(InputError) as caught:
            row_files.read_row_file(path)
        assert str(path) in str(caught.value)
