"""``snakemake --report``: which files it holds, in which order, with which words."""

import json
import zipfile

import pytest

from tests.workflow.runner import Runner


@pytest.fixture(scope="module")
def contents(finished_sweep, tmp_path_factory):
    """The page of the report, and the names of the files beside it."""
    path = tmp_path_factory.mktemp("report") / "report.zip"
    done = Runner(finished_sweep[0])("--report", str(path))
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    with zipfile.ZipFile(path) as file:
        return file.read("report/report.html").decode(), file.namelist()


def given(page: str, name: str) -> dict:
    """What the page says in ``var name = …``."""
    start = page.rindex(f"var {name} = ") + len(f"var {name} = ")
    return json.JSONDecoder().raw_decode(page, start)[0]


def test_figures_come_by_gpu_and_sweep_and_tables_on_their_own(contents):
    categories = given(contents[0], "categories")
    assert {"cpu", "a100", "h200", "rtx3090", "Tables", "Report"} <= set(categories)
    assert set(categories["cpu"]) == {"tiny"}
    kinds = [name.split("_")[-1] for name in categories["a100"]["oneflow"]]
    assert sorted(kinds) == ["published.svg", "speedup.svg", "throughput.svg", "time.svg"]
    (tables,) = categories["Tables"].values()
    assert sorted(tables) == ["results/claims.csv", "results/summary.csv"]


def test_all_have_captions_and_labels_and_are_in_the_file(contents):
    page, names = contents
    results = given(page, "results")
    assert len(results) > 20
    held = {name.rpartition("/")[2] for name in names}
    for path, shown in results.items():
        assert len(shown["caption"]) > 50, path
        assert path.rpartition("/")[2] in held
    figure = results["results/figures/cpu_float32_tiny_time.svg"]
    assert "<strong>tiny</strong>" in figure["caption"]
    assert figure["labels"] == {"dtype": "float32", "figure": "time"}


def test_the_description_names_the_sweep(contents):
    assert "<strong>tiny</strong>" in given(contents[0], "workflow_desc")
