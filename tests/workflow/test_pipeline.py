"""The pipeline through real Snakemake: from nothing to a report, and what each edit runs again."""

import re
import shutil

import pytest

from measure import ROOT
from tests.analysis.test_recorded import make
from tests.bench import read_row
from tests.workflow.runner import Runner, configure, read_csv

POINTS = 8
ONCE = ("merge", "collect", "summary", "claims", "report", "all")
AFTER_POINTS = dict.fromkeys(ONCE, 1) | {"gpu_figures": 3}


def test_from_empty_to_a_report(finished_sweep):
    folder, planned = finished_sweep
    assert planned == {"point": POINTS} | AFTER_POINTS
    rows = read_csv(folder / "results/measurements.csv")
    measured = [row for row in rows if row["origin"] == "measured"]
    assert len(measured) == POINTS
    statuses = {(r["variant"].split("_")[0], r["status"]) for r in measured}
    assert statuses == {("torch", "ok"), ("triton", "interpreted")}
    report = (folder / "results/report.md").read_text(encoding="utf-8")
    assert "torch_softmax" in report
    assert "snakemake --cores all" in report
    figures = folder / "results/figures"
    # its own, the A100's, and those of all GPUs; not every recorded one
    assert {path.name for path in figures.iterdir()} == {"cpu", "a100", "all"}
    drawn = "all/hero", "all/float32_oneflow_published", "all/softmax_grid", "cpu/float32_tiny_time"
    for name in drawn:
        assert (figures / f"{name}.png").stat().st_size > 5000, name
    for kind in ("time", "throughput"):
        assert (figures / f"a100/float32_online_softmax_{kind}.svg").stat().st_size > 10_000
    assert {r["claim"] for r in read_csv(folder / "results/claims.csv")} >= {"S0-a", "S3-a", "S4-a"}
    assert "\nReport: results/report.html" in Runner(folder).printed()


def test_the_readme_of_results_lists_what_a_run_makes(finished_sweep):
    text = (ROOT / "results/README.md").read_text(encoding="utf-8")
    first_cells = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    listed = {name for cell in first_cells for name in re.findall(r"`([^`]+?)/?`", cell)}
    made = {path.name for path in (finished_sweep[0] / "results").iterdir()}
    assert made == listed - {"recorded"}, "which `make report` makes"


EDITED = {  # file -> number of points to which its code belongs
    "kernels/published/torch_naive.py": 2,
    "kernels/published/triton_online.py": 4,  # triton_online_nocache uses it
    "measure/provenance.py": POINTS,
}
REPORT = {"report": 1, "all": 1}


def test_prose_and_touched_files_measure_nothing_and_the_report_shows_prose(runner):
    runner.edit("measure/provenance.py", '"""', '# mended\n"""Mended: ', count=1)
    runner.edit("analysis/stats/points.py", '"""', '"""Mended: ', count=1)
    for path in runner.folder.rglob("*.py"):
        path.touch()
    assert runner.jobs() == {}
    runner.edit("analysis/report/page/page.css", "{", "{ /* mended */", count=1)
    assert runner.jobs() == REPORT, "an edit of the style sheet writes the page alone"
    runner("report")
    runner.edit("kernels/published/torch_naive.py", '"""', '"""Mended: ', count=1)
    assert runner.jobs() == REPORT


@pytest.mark.parametrize("file", EDITED)
def test_edited_code_measures_what_uses_it_beside_the_old_rows(runner, file):
    before = {path: path.stat().st_mtime_ns for path in runner.rows()}
    shutil.rmtree(runner.folder / ".snakemake")  # a copy has no records of earlier runs
    runner.change(file)
    measured = runner.jobs()
    assert measured["point"] == EDITED[file]
    assert measured["report"] == 1
    if EDITED[file] == 2:
        runner("--until", "merge")
        assert before.items() <= {p: p.stat().st_mtime_ns for p in runner.rows()}.items()
        assert len(runner.rows()) == POINTS + 2
        assert "point" not in runner.jobs()
        runner.edit(file, "\nCHANGED = True\n", "")
        assert "point" not in runner.jobs(), "the old rows count again"
        assert runner.jobs()["merge"] == 1


def test_a_package_that_is_installed_measures_its_rows(runner):
    configure(runner.folder, variants=["torch_softmax", "peer_liger"])
    assert runner.jobs()["point"] == 2
    runner("rows")
    assert {r["status"] for r in map(read_row, runner.rows()) if r["variant"] == "peer_liger"} == {
        "unavailable"
    }
    assert "point" not in runner.jobs("rows")
    metadata = runner.folder / "liger_kernel-0.8.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: liger-kernel\nVersion: 0.8\n", encoding="utf-8")
    (metadata / "top_level.txt").write_text("liger_kernel\n", encoding="utf-8")
    assert runner.jobs("rows")["point"] == 2


@pytest.mark.parametrize(
    ("change", "measured"),
    [
        ({"shapes": [{"M": 4, "N": [8, 13, 21]}]}, 4),
        ({"replicates": 2}, POINTS),
        ({"blocks": 7}, POINTS),
        ({"timeout_s": 1000}, 0),
        ({"sweep": "other"}, 0),
    ],
)
def test_another_config_measures_what_it_changes(runner, change, measured):
    configure(runner.folder, **change)
    jobs = runner.jobs()
    assert jobs.get("point", 0) == measured
    assert bool(jobs) == ("timeout_s" not in change)


def test_a_deleted_product_is_made_again_without_measuring(runner):
    rules = {
        "results/claims.csv": ("claims", "report"),
        "results/figures/all": ("gpu_figures",),
    }
    for name, remade in rules.items():
        (runner.folder / name).rename(runner.folder / "deleted")
        jobs = runner.jobs()
        assert "point" not in jobs
        assert [jobs[rule] for rule in remade] == [1] * len(remade)
        (runner.folder / "deleted").rename(runner.folder / name)


def test_a_bad_config_is_refused_before_anything_runs(project):
    for change, words in (
        # while the config is read; test_validate.py has every other fault of it
        ({"variants": ["triton_onlin"]}, "did you mean triton_online"),
        # when jobs are about to start
        ({"gpus": ["rtx9999"]}, "this machine cannot measure rtx9999"),
    ):
        configure(project, **change)
        assert words in Runner(project)(fails=True)
        assert not (project / "results/rows").exists()


@pytest.mark.slow  # every recorded figure; analysis/ without torch has a quick test
def test_all_that_is_recorded_is_drawn_and_reported_without_torch(project, tmp_path):
    shutil.copytree(make(tmp_path), project / "data/recorded/rtx4090")  # a contributed GPU
    for name in ("torch", "triton"):  # the working directory comes first on the path
        (project / f"{name}.py").write_text(
            "raise ImportError('there is no torch here')\n", encoding="utf-8"
        )
    Runner(project)("--configfile", "sweeps/recorded.yaml")
    made = project / "results/recorded"
    origins = {r["origin"] for r in read_csv(made / "measurements.csv")}
    assert origins == {"recorded"}
    report = (made / "report.md").read_text(encoding="utf-8")
    assert "on NVIDIA H200</summary>" in report
    assert (made / "figures/all/float32_online_softmax_throughput.svg").exists()
    for document in (
        report,
        (made / "report.html").read_text(encoding="utf-8"),
    ):
        assert "NVIDIA GeForce RTX 4090" in document
