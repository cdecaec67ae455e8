"""The example of an operation of one's own: nothing of the project knows it."""

import shutil

import pytest
import torch

import kernels
import operations
from kernels.tensors import DTYPES
from measure import ROOT
from measure.check import correctness, edge_cases
from measure.device.opened import open_device
from measure.inputs import draw_at
from tests import copies
from tests.bench import point
from tests.kernels.helpers.variants import forget
from tests.workflow.runner import Runner, read_csv

FOLDER = ROOT / "examples" / "rms_norm"
SMALL = """\
gpus: [cpu]
blocks: 6
dtypes: [float32]
shapes: [{M: 4, N: [8, 13, 64]}]
"""


def problems(name, dtype, change=lambda call: call) -> list[str | None]:
    """Return what the checks before timing say of a variant of the example, or of its change."""
    fields = {"op": "rms_norm", "M": 5, "N": 33, "dtype": str(dtype).removeprefix("torch.")}
    files = {"operation_files": [FOLDER / "rms_norm.py"], "files": [FOLDER / f"{name}.py"]}
    measured, cpu = point(variant=name, **fields, **files), open_device("cpu")
    call = change(kernels.load(name).function("rms_norm"))
    inputs = draw_at(measured, cpu.torch_device, 0)
    accuracy = correctness.check_call(
        call, inputs, torch.arange(5), "rms_norm", measured.interpreted
    )
    ordinary, special = edge_cases.check(measured, cpu, call, inputs)
    return [accuracy.problem, ordinary, edge_cases.first_problem(special)]


@pytest.fixture
def added(monkeypatch):
    monkeypatch.setattr(operations, "_added", {})
    yield
    operations.load.cache_clear()
    forget()


@pytest.mark.filterwarnings("ignore:invalid value encountered")  # Triton's interpreter warns
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["torch_rms_norm", "triton_rms_norm"])
def test_both_variants_are_right(name, dtype, added):
    assert problems(name, dtype) == [None, None, None]


@pytest.mark.parametrize(
    "change",
    [
        lambda call: lambda x, w, out: call(x, torch.ones_like(w), out),
        lambda call: lambda x, w, out: call(x, w.roll(1), out),
    ],
    ids=["without weights", "weights of the next column"],
)
def test_a_wrong_kernel_is_told(change, added):
    assert problems("torch_rms_norm", torch.float32, change)[0]


@pytest.mark.slow
def test_a_sweep_from_elsewhere_ends_in_a_report_of_a_project_that_does_not_know_it(tmp_path):
    """The files are outside of the project, and so are the results; two variants, three sizes."""
    project = copies.copy_project(tmp_path / "project", recorded="oneflow")
    shutil.rmtree(project / "examples")
    outside = tmp_path / "outside"
    shutil.copytree(FOLDER, outside / "examples" / "rms_norm")
    (outside / "small.yaml").write_text(SMALL, encoding="utf-8")
    sweep = "--configfile", "examples/rms_norm/sweep.yaml", "small.yaml"
    Runner(outside)("--snakefile", str(project / "Snakefile"), *sweep)
    results = outside / "results"
    rows = read_csv(results / "measurements/cpu.csv")
    assert {(row["op"], row["variant"], row["status"]) for row in rows} == {
        ("rms_norm", "torch_rms_norm", "ok"),
        ("rms_norm", "triton_rms_norm", "interpreted"),
    }
    ranked = [row for row in read_csv(results / "summary.csv") if row["op"] == "rms_norm"]
    torch_rows = [row for row in ranked if row["variant"] == "torch_rms_norm"]
    assert len(torch_rows) == 3
    # a busy machine sets aa_biased at one size or another
    assert {row["rank"] for row in torch_rows if row["flags"] != "aa_biased"} == {"1"}
    timed = [row for row in rows if row["status"] == "ok"]
    assert all(float(row["copy_us"]) > 0 < float(row["of_copy"]) for row in timed)
    assert all(row["baseline"] == "torch_rms_norm" for row in rows)
    figures = {path.stem for path in (results / "figures/cpu").glob("*.svg")}
    assert {f"float32_rms_norm_{name}" for name in ("time", "throughput", "speedup")} <= figures
    report = (results / "report.md").read_text(encoding="utf-8")
    assert report.startswith("# Which rms_norm is fastest for your shape?")
    assert "No GPU has a row of rms_norm" in report
    assert "torch_softmax" not in (results / "figures/cpu/float32_rms_norm_time.svg").read_text()
