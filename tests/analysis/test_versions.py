"""Tables that older versions of the project wrote are read as rows of today."""

import csv
import io
import subprocess

import pytest

from analysis import InputError, row_files, schema, versions
from measure.provenance import git
from measure.row import SCHEMA_VERSION
from tests.analysis import synthetic

# Version -> the commit that recorded such a table.
RECORDED = {
    1: "97681a7:data/recorded/h200/frontier.csv",
    2: "c46bb21:data/recorded/h200/frontier.csv",
    3: "c309d44:data/recorded/h200/frontier.csv",
    4: "df746f7:data/recorded/h200/frontier.csv",
    5: "5e08a18:data/recorded/h200/frontier.csv",
    6: "56c267f:data/recorded/h100/random.csv",
}


@pytest.mark.parametrize("version", RECORDED)
def test_a_table_of_this_repositorys_history_is_read(version, tmp_path):
    try:
        text = git("show", RECORDED[version])
    except (OSError, subprocess.SubprocessError):
        pytest.skip("this checkout lacks the history")
    path = tmp_path / "old.csv"
    path.write_text(text, encoding="utf-8")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert versions.version_of([*lines[0]], {}) == version
    rows = row_files.read_rows(path)
    kept = lines[0].keys() & {*schema.COLUMNS}
    assert [{name: row[name] for name in kept} for row in rows] == [
        {name: row[name] for name in kept} for row in lines
    ]
    expected = {"replicate": "1", "blocks": "50"} if version < 3 else {"fingerprint": ""}
    expected |= {"schema_version": str(SCHEMA_VERSION)}
    assert {name: rows[0][name] for name in expected} == expected


def test_each_step_leads_to_the_current_columns():
    assert len(versions.STEPS) == SCHEMA_VERSION - 1


@pytest.mark.parametrize("version", ["", "0", "9000", "two"])
def test_a_version_that_this_code_cannot_read_is_named(version, tmp_path):
    path = synthetic.write_csv(tmp_path / "x.csv", [synthetic.row(schema_version=version)])
    with pytest.raises(InputError, match=f"x.csv: schema_version is '{version}', and this code"):
        row_files.read_rows(path)
