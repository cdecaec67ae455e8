"""The command line as a person uses it, from another working directory."""

import pytest

from analysis import __main__ as cli
from analysis import schema
from analysis.merge import mark_ranked, merge_rows
from measure import ROOT
from tests import processes
from tests.analysis import synthetic

PUBLISHED = ROOT / "data/published/sources.yaml"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """run(*arguments): (exit code, standard error) of the command, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = cli.main([str(word) for word in arguments])
        return code, capsys.readouterr().err

    return call


def test_from_row_files_to_report(run, tmp_path):
    rows = synthetic.sweep_rows([8192, 16384], ["torch_softmax", "triton_online"])
    files = [synthetic.write_row(tmp_path, row) for row in rows]
    merge_rows(files, "mine", tmp_path / "h200.csv")
    read = ("--measurements", "all.csv")
    published = ("--published", PUBLISHED)
    of_report = ("--claims", "c.csv", "--figures-dir", "f", "--command", "make run")
    steps = [
        ("collect", "--unranked-flags", "throttled", "--output", "all.csv", "h200.csv"),
        ("summary", *read, "--output", "s.csv"),
        ("claims", *read, *published, "--output", "c.csv"),
        ("figures", *read, *published, "--gpu", "h200", "--output-dir", "f"),
        ("figures", *read, *published, "--output-dir", "f"),
        ("report", *read, *of_report, *published, "--output-dir", "."),
        ("record", "--merged", "h200.csv", "--rows", "rows", "--command", "x", "--output", "h200"),
    ]
    for step in steps:
        code, said = run(*step)
        assert code == 0, said
        assert said.count("\n") == 1
    report = (tmp_path / "report.md").read_text()
    assert "| triton_online 2/2 |" in report
    assert "](f/h200/map.png)" in report
    page = (tmp_path / "report.html").read_text()
    assert "<td>triton_online 2/2</td>" in page
    assert "<code>make run</code>" in page
    assert 'src="data:image/png;base64,' in page, "the map"


COMPLAINTS = {
    "collect --output out bad.csv": "column gpu is missing",
    "collect --output all.csv/out all.csv": "cannot write",
    "collect --recorded none --output out": "none: no such file",
    "summary --measurements bad.csv --output out": "column sweep is missing",
    "claims --measurements all.csv --published none --output out": "sources.yaml: no such file",
    f"figures --measurements all.csv --published {PUBLISHED} --gpu h100 "
    "--output-dir out": "no rows of gpu h100",
    f"report --measurements all.csv --published {PUBLISHED} --claims bad.csv "
    "--figures-dir . --command x --output-dir out": "not written by `claims`",
    "record --merged all.csv --rows . --command x --output a100": "rows of gpu h200",
}


@pytest.mark.parametrize(("command", "complaint"), COMPLAINTS.items())
def test_bad_input_is_one_line_and_leaves_nothing(run, tmp_path, command, complaint):
    row = synthetic.row()
    (collected,) = mark_ranked([{"sweep": "s", "origin": "measured"} | row])
    synthetic.write_csv(tmp_path / "all.csv", [collected], schema.COLLECTED)
    (tmp_path / "bad.csv").write_text("one,two\n1,2\n")
    before = sorted(tmp_path.rglob("*"))
    code, said = run(*command.split())
    assert code == 1
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
