"""Rows that were copied here count, unless other code measured them."""

import os

import pytest

from tests.analysis import synthetic
from tests.workflow.runner import TINY, UNTIL_MERGED, Runner, configure

GPUS = ("a100", "h200")
VARIANTS = ["torch_softmax", "triton_online", "triton_row"]


def rows(gpu, **columns):
    """Yield the rows that a machine with such a GPU would have measured with the current code."""
    (shape,) = TINY["shapes"]
    for variant in VARIANTS:
        point = {"gpu": gpu, "variant": variant, "M": shape["M"]}
        for n in shape["N"]:
            yield synthetic.row(N=n, **point | synthetic.code_of(variant) | columns)


@pytest.fixture
def runner(project):
    """A project with the rows of two machines, neither of which is this one."""
    for gpu in GPUS:
        for row in rows(gpu):
            synthetic.write_row(project / "results", row)
    configure(project, gpus=list(GPUS), variants=VARIANTS, blocks=51)
    return Runner(project)


def test_rows_of_two_machines_are_merged_and_nothing_is_measured_again(runner):
    for index, path in enumerate(sorted((runner.folder / "results/rows").rglob("*.*"))):
        os.utime(path, (1e9 + index % 3, 1e9 + index % 3))
    runner(*UNTIL_MERGED)
    for gpu in GPUS:
        merged = (runner.folder / f"results/measurements/{gpu}.csv").read_text(encoding="utf-8")
        assert len(merged.splitlines()) == 7
    assert "point" not in runner.jobs()


def test_rows_of_other_code_are_measured_again_and_stay(runner):
    other = [row for row in rows("h200", fingerprint="00000000") if row["variant"] == "triton_row"]
    current = {row["variant"]: row for row in rows("h200")}["triton_row"]
    paths = []
    for row in other:
        paths.append(synthetic.write_row(runner.folder / "results", row))
        paths[-1].with_name(f"triton_row.{current['fingerprint']}.1.csv").unlink()
    assert runner.jobs()["point"] == len(paths)
    assert all(path.exists() for path in paths)
