"""The pipeline through real Snakemake: from nothing to a report, and what each edit runs again."""

import csv
import os
from pathlib import Path

import pytest

from tests.marks import slow
from tests.workflow.runner import Runner, configure

POINTS = 8
ONCE = (
    "expected",
    "merge",
    "collect",
    "summary",
    "claims",
    "plot_overview",
    "report",
    "html",
    "all",
)
AFTER_POINTS = dict.fromkeys(ONCE, 1)


def table(path: Path) -> list[dict]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_from_empty_to_a_report(finished_sweep):
    folder, planned = finished_sweep
    planned = dict(planned)
    figures, bars = planned.pop("plot_sweep"), planned.pop("plot_published")
    assert planned == {"point": POINTS} | AFTER_POINTS
    measured = [r for r in table(folder / "results/measurements.csv") if r["origin"] == "measured"]
    assert len(measured) == POINTS
    by_status = {r["status"] for r in measured if r["variant"].startswith("torch")}
    assert by_status == {"ok"}
    assert {r["status"] for r in measured if "triton" in r["variant"]} == {"interpreted"}
    report = (folder / "results/report.md").read_text()
    assert "torch_softmax" in report
    assert "snakemake --cores all" in report
    assert len(list((folder / "results/figures").glob("*.svg"))) == 3 * figures + bars + 1
    # the A100's are always drawn
    for kind in ("time", "throughput"):
        svg = folder / f"results/figures/a100_float32_online_softmax_{kind}.svg"
        assert svg.stat().st_size > 10_000
    assert {r["claim"] for r in table(folder / "results/claims.csv")} >= {"S0-a", "S3-a", "S4-a"}


def test_mended_prose_leaves_nothing_to_do_and_touched_files_no_points(runner):
    for room in (
        "kernels/published/torch_naive.py",
        "measure/stats/interval.py",
        "analysis/statistics.py",
    ):
        runner.edit(room, '"""', '# mended\n"""Mended: ', count=1)
    assert runner.jobs() == {}
    for path in runner.folder.rglob("*.py"):
        path.touch()
    assert "point" not in runner.jobs()


def test_editing_a_kernel_measures_that_kernel_again(runner):
    runner.change("kernels/published/torch_naive.py")
    jobs = runner.jobs()
    assert jobs["point"] == 2
    others = {p: p.stat().st_mtime_ns for p in runner.rows() if "naive" not in p.name}
    assert runner("--until", "merge").returncode == 0
    assert {p: p.stat().st_mtime_ns for p in others} == others
    assert "point" not in runner.jobs()


def test_editing_a_shared_kernel_measures_all_that_use_it(runner):
    runner.change("kernels/published/triton_online.py")
    assert runner.jobs()["point"] == 4


def test_editing_measure_measures_everything_again(runner):
    runner.change("measure/stats/interval.py")
    assert runner.jobs()["point"] == POINTS


def test_editing_analysis_measures_nothing_again(runner):
    runner.change("analysis/statistics.py")
    jobs = runner.jobs()
    assert jobs.pop("plot_sweep") >= 4
    assert jobs.pop("plot_published") >= 1
    assert jobs == {name: n for name, n in AFTER_POINTS.items() if name != "expected"}


def test_a_deleted_row_is_measured_again_and_nothing_else(runner):
    runner.rows()[0].unlink()
    assert runner.jobs()["point"] == 1
    assert runner("--until", "merge").returncode == 0
    assert len(runner.rows()) == POINTS


@pytest.mark.parametrize(
    "name",
    [
        "results/claims.csv",  # what the report reads
        slow("results/report.md"),
        slow("results/figures/a100_float32_online_softmax_time.svg"),
        "results/figures/a100_float32_oneflow_published.png",  # one of a rule's many files
    ],
)
def test_a_deleted_product_is_made_again_without_measuring(runner, name):
    (runner.folder / name).unlink()
    jobs = runner.jobs()
    assert "point" not in jobs
    assert jobs["report"] == 1


def test_a_longer_list_of_sizes_measures_only_the_new_ones(runner):
    configure(runner.folder, shapes=[{"M": 4, "N": [8, 13, 21]}])
    assert runner.jobs()["point"] == 4


def test_another_seed_measures_everything_again(runner):
    configure(runner.folder, seed=1)
    assert runner.jobs()["point"] == POINTS


def test_another_time_out_measures_nothing_again(runner):
    configure(runner.folder, timeout_s=1000)
    assert runner.jobs() == {}


def test_another_name_for_the_sweep_measures_nothing_again(runner):
    configure(runner.folder, sweep="other")
    jobs = runner.jobs()
    assert "point" not in jobs
    assert jobs["merge"] == 1


# some rows ranked, all ranked
@pytest.mark.parametrize("unranked", [["throttled", "launch_bound"], []])
def test_other_flags_that_keep_from_ranking_measure_nothing_again(runner, unranked):
    configure(runner.folder, unranked_flags=unranked)
    jobs = runner.jobs()
    assert jobs.pop("plot_sweep") >= 4
    assert jobs.pop("plot_published") >= 1
    kept = {"expected", "merge"}
    assert jobs == {name: n for name, n in AFTER_POINTS.items() if name not in kept}
    done = runner("--until", "collect")
    assert done.returncode == 0, done.stderr
    rows = table(runner.folder / "results/measurements.csv")
    assert list(rows[0])[:5] == ["sweep", "origin", "ranked", "unranked_by", "stale"]
    assert list(table(runner.folder / "results/measurements/cpu.csv")[0])[:3] == [
        *("sweep", "origin", "gpu")
    ]
    for row in rows:
        assert row["ranked"] == str(not set(row["flags"].split()) & set(unranked)).lower()
    assert {row["ranked"] for row in rows} == ({"true", "false"} if unranked else {"true"})
    assert {row["stale"] for row in rows if row["origin"] == "measured"} == {"false"}


def test_a_broken_row_stops_the_merge_with_a_clear_message_and_keeps_the_rows(runner):
    row = runner.rows()[0]
    text = row.read_text()
    row.write_text(text[: len(text) // 2])
    os.utime(row)
    done = runner()
    assert done.returncode != 0
    output = done.stdout + done.stderr
    assert row.name in output
    assert "Traceback" not in output
    assert len(runner.rows()) == POINTS


@pytest.mark.parametrize(
    ("change", "words"),
    [
        # refused while the config is read; test_config.py has every other fault of it
        ({"variants": ["triton_onlin"]}, "did you mean triton_online"),
        # refused when jobs are about to start
        ({"gpus": ["rtx9999"]}, "this machine cannot measure rtx9999"),
    ],
)
def test_a_bad_config_is_refused_before_anything_runs(project, change, words):
    configure(project, **change)
    done = Runner(project)()
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert words in output
    assert "Traceback" not in output
    assert not (project / "results/cells").exists()


@pytest.mark.slow  # every recorded figure; analysis/ without torch has a quick test
def test_all_that_is_recorded_is_drawn_and_reported_without_torch(project):
    for name in ("torch", "triton"):  # the working directory comes first on the path
        (project / f"{name}.py").write_text("raise ImportError('there is no torch here')\n")
    done = Runner(project)("--configfile", "sweeps/recorded.yaml")
    assert done.returncode == 0, done.stderr
    origins = {r["origin"] for r in table(project / "results/measurements.csv")}
    assert origins == {"recorded"}
    report = (project / "results/report.md").read_text()
    assert "NVIDIA H200" in report
    assert "(recorded, not measured in this run)" in report
    for sweep in ("online_softmax", "fused_softmax"):
        figure = project / f"results/figures/h200_float32_{sweep}_throughput.svg"
        assert "copy (roofline)" in figure.read_text()


@pytest.mark.slow
def test_ten_thousand_points_are_planned(project):
    """Only that it works; how long it takes is measured by hand (docs say so)."""
    configure(
        project,
        gpus=["h200"],
        shapes=[{"M": {"from": 1, "to": 50, "step": 1}, "N": {"from": 1, "to": 50, "step": 1}}],
    )
    assert Runner(project).jobs("--quiet", "rules")["point"] == 10_000
