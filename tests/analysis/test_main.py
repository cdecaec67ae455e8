"""The command line as a person uses it, from another working directory."""

import io

import pytest

from analysis import __main__ as cli
from analysis import exit_codes, schema
from analysis.eligibility import mark_ranked
from measure import ROOT
from tests import processes
from tests.analysis import synthetic

PUBLISHED = ROOT / "data/published/sources.yaml"


COMPLAINTS = {
    "merge --sweep s --output out": "bad.csv: wrong header: column gpu is missing",
    "collect --output all.csv/out all.csv": "cannot write",
    "collect --recorded none --output out": "none: no such file",
    "summary --measurements bad.csv --output out": "column sweep is missing",
    "claims --measurements all.csv --published none --output out": "sources.yaml: no such file",
    f"report --measurements all.csv --published {PUBLISHED} --claims bad.csv "
    "--command x --output-dir out": "not written by `claims`",
}


@pytest.mark.parametrize(("command", "complaint"), COMPLAINTS.items())
def test_bad_input_is_one_line_and_leaves_nothing(
    tmp_path, monkeypatch, capsys, command, complaint
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("bad.csv\n"))
    collected = mark_ranked([{"sweep": "s", "origin": "measured"} | synthetic.row()])
    synthetic.write_csv(tmp_path / "all.csv", collected.to_dict("records"), schema.COLLECTED)
    (tmp_path / "bad.csv").write_text("one,two\n1,2\n", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    assert cli.main(command.split()) == exit_codes.BAD_INPUT
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert complaint in said
    assert said.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_torch_is_not_imported():
    program = (
        "import sys, analysis.__main__, analysis.merge, analysis.recorded, "
        "analysis.ranking, analysis.claims, analysis.figures.write, analysis.report.write; "
        "print([m for m in ('torch', 'triton') if m in sys.modules])"
    )
    assert processes.run_code(program).strip() == "[]"
