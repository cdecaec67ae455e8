"""`snakemake --report`: which files it holds, in which order, with which words."""

import json
import zipfile

from tests.workflow.runner import Runner


def given(page: str, name: str) -> dict:
    """What the page says in `var name = …`."""
    start = page.rindex(f"var {name} = ") + len(f"var {name} = ")
    return json.JSONDecoder().raw_decode(page, start)[0]


def test_figures_come_by_gpu_with_captions_and_tables_beside_them(finished_sweep, tmp_path):
    printed = Runner(finished_sweep[0])("--report", str(tmp_path / "report.zip"))
    assert "WARNING" not in printed
    with zipfile.ZipFile(tmp_path / "report.zip") as file:
        page, names = file.read("report/report.html").decode(), file.namelist()
    categories = given(page, "categories")
    assert {"Figures", "Tables", "Report"} <= set(categories)
    assert set(categories["Figures"]) == {"cpu", "a100", "all"}
    kinds = [name.split("_")[-1] for name in categories["Figures"]["a100"] if "oneflow" in name]
    assert sorted(kinds) == ["throughput.svg", "time.svg"]
    (tables,) = categories["Tables"].values()
    assert sorted(tables) == ["results/claims.csv", "results/summary.csv"]
    results = given(page, "results")
    held = {name.rpartition("/")[2] for name in names}
    for path, shown in results.items():
        assert len(shown["caption"]) > 50, path
        assert path.rpartition("/")[2] in held
    figure = results["results/figures/cpu/float32_tiny_time.svg"]
    assert "float32_tiny_time on cpu" in figure["caption"]
    assert figure["labels"] == {"figure": "float32_tiny_time"}
    assert "<strong>tiny</strong>" in given(page, "workflow_desc")
