"""Rows that were copied here: taken as they are, known from then on, refused if of other code."""

import os
import re
import shutil
import subprocess

import pytest

import kernels
from measure import fingerprint
from measure.row import samples_path
from tests.analysis import synthetic
from tests.workflow.runner import TINY, Runner, configure

GPUS = ("a100", "h200")
SWEEP = {"gpus": list(GPUS), "variants": ["torch_softmax", "triton_online", "triton_row"]}


def rows(gpu, **given):
    """What a machine with such a GPU would have measured, with the code that is here."""
    (shape,) = TINY["shapes"]
    for variant in SWEEP["variants"]:
        code = {"kernel_sha256": kernels.sha256(variant, gpu)}
        code |= {"measure_sha256": fingerprint.measure_sha256()}
        for n in shape["N"]:
            yield synthetic.row(gpu=gpu, variant=variant, M=shape["M"], N=n, **code | given)


@pytest.fixture
def runner(tmp_path, project):
    """A project with the cells of two machines, neither of which is this one."""
    for gpu in GPUS:
        for row in rows(gpu):
            synthetic.write_cell(tmp_path / gpu, row)
        shutil.copytree(tmp_path / gpu / "cells", project / "results/cells", dirs_exist_ok=True)
    configure(project, **SWEEP)
    return Runner(project)


@pytest.mark.slow
def test_rows_of_two_machines_are_reported_and_nothing_is_measured_again(runner):
    done = runner()
    assert done.returncode == 0, done.stderr
    report = (runner.folder / "results/report.md").read_text()
    assert "NVIDIA H200" in report
    assert "NVIDIA A100-PCIE-40GB" in report
    assert runner.jobs() == {}


def test_the_times_of_copied_files_do_not_matter(runner):
    for index, path in enumerate(sorted((runner.folder / "results/cells").rglob("*.*"))):
        os.utime(path, (1e9 + index % 3, 1e9 + index % 3))
    assert "point" not in runner.jobs()


def test_once_reported_copied_rows_are_measured_again_when_their_kernel_is_edited(runner):
    assert runner("--until", "merge").returncode == 0
    runner.change("kernels/published/triton_row.py")
    assert runner.jobs()["point"] == len(GPUS) * 2


@pytest.mark.parametrize(
    "strange", [{"kernel_sha256": "0" * 64}, {"measure_sha256": "0" * 64}, {"seed": "7"}]
)
def test_rows_of_other_code_or_settings_are_refused_and_kept(runner, strange):
    of_row = [row for row in rows("h200", **strange) if row["variant"] == "triton_row"]
    paths = [synthetic.write_cell(runner.folder / "results", row) for row in of_row]
    done = runner()
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert "2 rows (triton_row on h200) came from elsewhere" in output
    assert "Traceback" not in output
    assert all(path.exists() for path in paths)
    # what the message says, done
    other = next(row for row in rows("h200", op="log_softmax") if row["variant"] == "triton_row")
    spared = synthetic.write_cell(runner.folder / "results", other)
    (command,) = re.findall("^ *(xargs .*)$", output, re.MULTILINE)
    subprocess.run(command, shell=True, check=True, cwd=runner.folder)
    assert runner.jobs()["point"] == len(paths)
    assert spared.exists(), "a row of another sweep"
    assert not any(samples_path(path).exists() for path in paths)


def test_an_edit_before_the_first_run_is_noticed_too(runner):
    runner.change("kernels/published/triton_row.py")
    done = runner()
    assert done.returncode != 0
    assert "4 rows (triton_row on a100, triton_row on h200) came from" in done.stdout + done.stderr


def test_a_copied_row_that_is_not_whole_is_left_to_the_merge(runner):
    row = runner.rows()[0]
    row.write_text(row.read_text()[:-40])
    done = runner("--until", "merge")
    assert done.returncode != 0
    assert "came from elsewhere" not in done.stderr
    assert row.name in done.stdout + done.stderr
