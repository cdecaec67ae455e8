"""Recorded and published tables: what is drawn of them, and the hashes that rows should have."""

import csv
import dataclasses

import pytest
import yaml

from analysis import ranking
from analysis.figures import write
from measure.fingerprint import ROOT
from measure.point import Point
from planning import tables
from tests import processes

PUBLISHED = ROOT / "data/published"


def point(gpu, dtype="float32"):
    return Point(gpu, dtype, 4, 8, "triton_row")


def test_figures_are_drawn_of_what_is_measured_recorded_and_published(tmp_path):
    for gpu in ("h200", "b200"):
        (tmp_path / gpu).mkdir()
        (tmp_path / gpu / "online_softmax.csv").write_text(
            "gpu,op,dtype,distribution,M,N,variant\n"
            + "".join(f"{gpu},softmax,float32,normal,4,{N},triton_row\n" for N in range(1, 21))
            + "".join(
                f"{gpu},softmax,bfloat16,normal,4,{N % 20},triton_row\n" for N in range(1, 20)
            )
        )
    found = tables.recorded_tables(["b200"], tmp_path)
    names = tables.figures("online_softmax", [point("b200")], found, PUBLISHED)
    assert [name.removesuffix("_time") for name in names if name.endswith("_time")] == [
        "b200_float32_online_softmax",
        "h200_float32_online_softmax",
        "h200_bfloat16_online_softmax",
        "a100_float32_online_softmax",
        "rtx3090_float32_fused_softmax",
        "a100_float32_oneflow",
    ]
    # b200's 20 matrices are left out, because it is measured
    assert [name for name in names if name.endswith("_profile")] == [
        "h200_float32_online_softmax_profile"
    ]
    assert len(names) == 3 * 6 + 2
    assert names[-1] == "a100_float32_oneflow_published"
    many = [dataclasses.replace(point("b200"), N=N) for N in range(1, 21)]
    assert "b200_float32_mine_profile" in tables.figures("mine", many, [], PUBLISHED)


@pytest.mark.parametrize(
    ("gpu", "sweep", "dtype", "drawn"),
    [
        ("h200", "oneflow", "float32", True),
        ("h200", "oneflow", "float16", False),  # the table is of float32
        ("cpu", "oneflow", "float32", False),  # not beside a GPU's times
        ("h200", "online_softmax", "float32", False),  # too many values
    ],
)
def test_which_sets_are_drawn_beside_a_published_table(gpu, sweep, dtype, drawn):
    names = tables.figures(sweep, [point(gpu, dtype)], [], PUBLISHED)
    assert (f"{gpu}_{dtype}_{sweep}_published" in names) == drawn


def test_what_is_said_of_a_published_table_is_true():
    for name, source in yaml.safe_load((PUBLISHED / "sources.yaml").read_text()).items():
        with (PUBLISHED / name).open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert {(row["gpu"], row["dtype"]) for row in rows} == {(source["gpu"], source["dtype"])}


def test_the_kinds_of_figures_are_those_that_analysis_draws():
    assert tables.OVER_N == write.OVER_N
    assert [*tables.OVER_N, tables.PROFILE, tables.PUBLISHED] == list(write.KINDS)
    assert ranking.MIN_MATRICES == tables.MIN_MATRICES


def test_planning_needs_neither_torch_nor_pandas():
    program = (
        "import sys; from planning import cluster, machine, points, tables; "
        "print([m for m in ('torch', 'triton', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    assert processes.run_code(program).strip() == "[]"
