"""Recorded and published tables: what is drawn of them, and the hashes that rows should have."""

import yaml

from measure import ROOT
from planning import tables
from tests import processes
from tests.analysis import synthetic
from tests.workflow.runner import read_csv

PUBLISHED = ROOT / "data/published"


def test_the_gpus_are_those_recorded_elsewhere_and_published(tmp_path):
    for gpu in ("h200", "b200"):
        synthetic.write_csv(tmp_path / gpu / "online_softmax.csv", [synthetic.row(gpu=gpu)])
    recorded = tables.recorded_tables(["b200"], tmp_path)
    assert tables.gpus(recorded, PUBLISHED) == ["a100", "h200", "rtx3090"]


def test_what_is_said_of_a_published_table_is_true():
    for name, source in yaml.safe_load(
        (PUBLISHED / "sources.yaml").read_text(encoding="utf-8")
    ).items():
        rows = read_csv(PUBLISHED / name)
        assert {(row["gpu"], row["dtype"]) for row in rows} == {(source["gpu"], source["dtype"])}


def test_an_edit_of_any_file_of_analysis_runs_a_rule_again():
    files = {path for path in (ROOT / "analysis").rglob("*") if path.is_file()}
    assert {path.suffix for path in files} - {".pyc", ".py"} == tables.DATA


def test_an_edit_of_a_script_of_the_workflow_runs_its_rule_again(monkeypatch):
    monkeypatch.setattr(tables.kernels, "code_sha256", frozenset)
    hashed = tables.analysis_sha256.__wrapped__(ROOT, ("merge",))
    assert {*(ROOT / "workflow/scripts").iterdir(), ROOT / "analysis/merge.py"} <= hashed


def test_planning_needs_neither_torch_nor_pandas():
    program = (
        "import sys; from planning import machine, points, tables; "
        "print([m for m in ('torch', 'triton', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    assert processes.run_code(program).strip() == "[]"
