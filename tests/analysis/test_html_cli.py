"""`python -m analysis html`, from merged rows to the page."""

import pytest

from analysis import cli, schema
from tests.analysis import synthetic
from tests.browser import made

TABLES = ["--published", str(made.REPOSITORY / "results" / "published")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with the summary and the claims of some rows."""
    monkeypatch.chdir(tmp_path)
    rows = synthetic.sweep_rows([256, 512], ["torch_softmax", "triton_online"])
    lines = [{"sweep": "mine", "origin": "measured"} | row for row in rows]
    synthetic.write_csv(tmp_path / "all.csv", lines, schema.LEADING)
    assert cli.main(["summary", "--measurements", "all.csv", "--output", "s.csv"]) == 0
    assert cli.main(["claims", "--measurements", "all.csv", *TABLES, "--output", "c.csv"]) == 0
    return tmp_path


def run(summary="s.csv", output="r.html"):
    given = ["--measurements", "all.csv", "--summary", summary, "--claims", "c.csv"]
    return cli.main(["html", *given, *TABLES, "--command", "make run", "--output", output])


def test_the_page_is_written(folder, capsys):
    assert run() == 0
    assert "analysis html: r.html" in capsys.readouterr().err
    text = (folder / "r.html").read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert "<strong>triton_online</strong> is fastest at 2 of 2 points" in text
    assert "<code>make run</code>" in text


def test_a_missing_summary_is_one_line_and_no_page(folder, capsys):
    assert run(summary="none.csv") == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert "none.csv" in error
    assert "run `summary` first" in error
    assert not (folder / "r.html").exists()


def test_a_page_that_cannot_be_written_is_one_line(folder, capsys):
    (folder / "file").write_text("")
    assert run(output="file/r.html") == 1
    assert "cannot write file/r.html" in capsys.readouterr().err
