"""The side-by-side study without a GPU: its table, its figure, its processes."""

from types import SimpleNamespace

import pandas as pd
import pytest
from torch.autograd import DeviceType

from studies.side_by_side import __main__ as study
from studies.side_by_side import tools
from studies.side_by_side.__main__ import main
from studies.side_by_side.tools import Point

SMALL = [Point("torch_softmax", 4, cols) for cols in (8, 16, 32)]
# µs that each tool adds to a kernel's time, in the synthetic table
ADDED = {"cupti": 0, "ours": 1, "do_bench": 2}


@pytest.fixture
def data(tmp_path):
    """A table of known numbers: process i is 1 % of the kernel's time above process i - 1."""
    lines = []
    for tool, added in ADDED.items():
        for process in range(3):
            for point in study.POINTS:
                kernel = 2.0 + 8 * point.M * point.N / 4e6  # µs, at 4 TB/s
                time = kernel * (1 + 0.01 * (process - 1)) + added
                line = {"time_us": time, "low": 0.9 * time, "high": 1.1 * time, "cost_s": 0.5}
                if (tool, process, point.N) == ("do_bench", 2, 256):
                    line = {"error": "RuntimeError: out of memory"}
                lines.append({"harness": tool, "process": process} | point._asdict() | line)
    path = tmp_path / "side_by_side.csv"
    pd.DataFrame(lines, columns=study.COLUMNS).to_csv(path, index=False)
    return path


def test_a_tool_is_compared_with_the_reference_at_every_point(data):
    lines = study.load(data)
    points = study.per_point(lines).set_index(["harness", "variant", "N", "M"])
    first = points.loc[("do_bench", "torch_softmax", 1024, 1024)]
    kernel = 2.0 + 2 * 4 * 1024 * 1024 / 4e6
    assert first["kernel_us"] == pytest.approx(kernel)
    assert first["ratio"] == pytest.approx((kernel + 2) / kernel)
    assert first["between"] == pytest.approx(0.02 * kernel / (kernel + 2))
    assert first["within"] == pytest.approx(0.2)
    assert (first["failed"], first["processes"]) == (0, 3)
    assert points.loc[("do_bench", "torch_softmax", 256, 1024), "failed"] == 1
    assert study.per_point(lines[lines["process"] == 0])["between"].isna().all()


def test_the_table_has_a_line_per_band_and_tool(data, capsys):
    assert main(["table", "--data", str(data)]) == 0
    text = capsys.readouterr().out
    assert text.count("**Kernels") == len(study.BANDS)
    assert text.count("| triton do_bench |") == len(study.BANDS)
    # Worst where a kernel takes 2.52 µs and do_bench adds 2. Of its three processes, at 99, 100 and
    # 101 % of the kernel's time, the last failed: (0.995 · 2.52 + 2) / 2.52.
    assert " … 1.787 |" in text
    assert "| 2 of 18 |" in text
    assert "nan" not in text


def test_the_figure_is_drawn(data, tmp_path):
    assert main(["draw", "--data", str(data), "--output", str(tmp_path / "figures")]) == 0
    assert (tmp_path / "figures/side_by_side.png").read_bytes().startswith(b"\x89PNG")


def test_a_process_writes_a_line_per_point_even_if_one_fails(tmp_path, monkeypatch):
    def time_us(call, x, out):
        if x.shape[1] == 16:
            raise RuntimeError("not this one")
        return [1.0, 2.0, 3.0] * (2 if x.shape[1] == 32 else 1)

    tool = tools.functools.partial(tools.one_by_one, time_us)
    monkeypatch.setitem(study.TOOLS, "do_bench", tool)
    study.run_process("do_bench", SMALL, tmp_path / "part.csv")
    lines = pd.read_csv(tmp_path / "part.csv").set_index("N")
    assert lines["time_us"].dropna().to_dict() == {8: 2, 32: 2}
    assert lines.loc[16, "error"] == "RuntimeError: not this one"
    assert lines["low"].notna().tolist() == [False, False, True]  # few samples have no quantiles


@pytest.mark.slow  # it starts fresh processes, which import torch
def test_a_study_resumes_and_measures_with_this_project(tmp_path, monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(study, "POINTS", SMALL[:2])
    words = ["measure", "--output", str(tmp_path), "--only", "blocked_autorange", "ours"]
    assert main([*words, "--processes", "1"]) == 0
    parts = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()}
    assert main([*words, "--processes", "1"]) == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()} == parts
    lines = study.load(tmp_path / "side_by_side.csv")
    assert lines["harness"].value_counts().to_dict() == {"blocked_autorange": 2, "ours": 2}
    assert (lines["time_us"] > 0).all()
    assert (lines["cost_s"] > 0).all()


def test_cupti_counts_the_softmax_and_nothing_else():
    def event(name, us, device=DeviceType.CUDA):
        time = SimpleNamespace(elapsed_us=lambda: us)
        return SimpleNamespace(name=name, device_type=device, time_range=time)

    flush, host = event("vectorized_elementwise_kernel", 90), event("softmax", 9, DeviceType.CPU)
    kernels = [event("softmax_fwd_kernel_row", 3), event("cunn_SoftMaxForward<4>", 5)]
    assert tools.kernel_times_us([flush, host, *kernels]) == [3, 5]
    with pytest.raises(RuntimeError, match="but vectorized"):
        tools.kernel_times_us([flush, host])


@pytest.mark.gpu
@pytest.mark.parametrize("tool", study.TOOLS)
def test_each_tool_times_a_kernel_on_a_gpu(tool, tmp_path, monkeypatch):
    if tool == "cuda_bench":
        pytest.importorskip("cuda.bench")
    monkeypatch.setattr(study, "POINTS", study.POINTS[:2])
    assert main(["measure", "--output", str(tmp_path), "--processes", "1", "--only", tool]) == 0
    assert (study.load(tmp_path / "side_by_side.csv")["time_us"] > 0).all()
