"""Recorded and published tables: what is drawn of them, and the hashes that rows should have."""

import yaml

from measure import ROOT
from measure.point import Point
from planning import tables
from tests import processes
from tests.analysis import synthetic
from tests.workflow.runner import read_csv

PUBLISHED = ROOT / "data/published"


def test_the_sets_are_those_measured_recorded_and_published(tmp_path):
    for gpu in ("h200", "b200"):
        rows = [synthetic.row(gpu=gpu, dtype=dtype) for dtype in ("float32", "bfloat16")]
        synthetic.write_csv(tmp_path / gpu / "online_softmax.csv", rows)
    found = tables.recorded_tables(["b200"], tmp_path)
    given = ("b200", "float32"), ("cpu", "bfloat16")
    planned = [Point(*each, 4, 8, "triton_row") for each in given]
    sets = tables.gpus_by_sweep("online_softmax", planned, found, PUBLISHED)
    assert sets == {
        ("float32", "online_softmax"): {"b200", "h200", "a100"},
        ("bfloat16", "online_softmax"): {"cpu", "h200"},
        ("float32", "fused_softmax"): {"rtx3090"},
        ("float32", "oneflow"): {"a100"},
    }
    assert tables.shared_figures(sets) == ["hero", "gpus_float32_online_softmax"]


def test_what_is_said_of_a_published_table_is_true():
    for name, source in yaml.safe_load((PUBLISHED / "sources.yaml").read_text()).items():
        rows = read_csv(PUBLISHED / name)
        assert {(row["gpu"], row["dtype"]) for row in rows} == {(source["gpu"], source["dtype"])}


def test_an_edit_of_any_file_of_analysis_draws_again():
    files = (path for path in (ROOT / "analysis").rglob("*") if path.is_file())
    assert {path.suffix for path in files} - {".pyc"} <= tables.CODE


def test_planning_needs_neither_torch_nor_pandas():
    program = (
        "import sys; from planning import cluster, machine, points, tables; "
        "print([m for m in ('torch', 'triton', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    assert processes.run_code(program).strip() == "[]"
