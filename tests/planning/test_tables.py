"""Recorded and published tables: what is drawn of them, and the hashes that rows should have."""

import csv
import subprocess
import sys

import pytest
import yaml

import kernels
from measure import fingerprint
from measure.fingerprint import ROOT
from planning import points, tables

PUBLISHED = ROOT / "data/published"
DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text())


def test_figures_are_drawn_of_what_is_measured_recorded_and_published(tmp_path):
    recorded = tmp_path / "recorded"
    for gpu in ("h200", "b200"):
        (recorded / gpu).mkdir(parents=True)
        (recorded / gpu / "online_softmax.csv").write_text(
            "dtype,variant\nfloat32,triton_row\nbfloat16,triton_row\n"
        )
    config = DEFAULT | {"gpus": ["b200"]}
    found = tables.recorded_tables(["b200"], recorded)
    sets, beside = tables.figure_sets(config, found, PUBLISHED)
    assert beside == [("a100", "float32", "oneflow")]
    assert sets == [
        ("b200", "float32", "online_softmax"),
        ("h200", "float32", "online_softmax"),
        ("h200", "bfloat16", "online_softmax"),
        ("a100", "float32", "online_softmax"),
        ("rtx3090", "float32", "fused_softmax"),
        ("a100", "float32", "oneflow"),
    ]


@pytest.mark.parametrize(
    ("gpu", "op_sweep", "dtype", "drawn"),
    [
        ("h200", "oneflow", "float32", True),
        ("h200", "oneflow", "float16", False),  # the table is of float32
        ("cpu", "oneflow", "float32", False),  # not beside a GPU's times
        ("h200", "online_softmax", "float32", False),  # too many values
    ],
)
def test_which_sets_are_drawn_beside_a_published_table(gpu, op_sweep, dtype, drawn):
    config = DEFAULT | {"gpus": [gpu], "sweep": op_sweep, "dtypes": [dtype]}
    _, beside = tables.figure_sets(config, [], PUBLISHED)
    assert ((gpu, dtype, op_sweep) in beside) == drawn


def test_what_is_said_of_a_published_table_is_true():
    for name, source in yaml.safe_load((PUBLISHED / "sources.yaml").read_text()).items():
        with (PUBLISHED / name).open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert {(row["gpu"], row["dtype"]) for row in rows} == {(source["gpu"], source["dtype"])}


def test_rows_are_expected_to_be_of_the_current_code(tmp_path):
    (tmp_path / "h200").mkdir()
    recorded = tmp_path / "h200" / "old.csv"
    recorded.write_text("dtype,variant\nfloat32,torch_naive\nfloat32,gone\n")
    config = DEFAULT | {"shapes": [{"M": 4, "N": [8, 9]}], "variants": ["triton_row"], "seed": 7}
    lines = tables.expected(points.expand(config, "a100"), [recorded])
    measure = fingerprint.measure_sha256()
    assert lines == [
        tables.EXPECTED,
        ("a100", "triton_row", kernels.sha256("triton_row", "a100"), measure, "7"),
        ("h200", "torch_naive", kernels.sha256("torch_naive", "h200"), measure, ""),
    ]


def test_planning_needs_neither_torch_nor_pandas():
    program = (
        "import sys; from planning import cluster, machine, points, tables; "
        "print([m for m in ('torch', 'triton', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
