"""The side-by-side study, without a GPU: its tables, its figure, its processes."""

import math
import sys
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from torch.autograd import DeviceType

from measure.point import Point
from studies.side_by_side import __main__ as cli
from studies.side_by_side import figure, harnesses, summary, table, tools, worker
from studies.side_by_side import measure as study
from studies.side_by_side.harnesses import cuda_bench, cupti
from studies.side_by_side.points import points

SMALL = [
    Point(gpu="cpu", dtype="float32", M=4, N=cols, variant="torch_softmax") for cols in (8, 16, 32)
]
# µs that each tool adds to a kernel's time, in the synthetic table
ADDED = {tool: added for added, tool in enumerate(("cupti", "ours", "do_bench"))}


@pytest.fixture
def data(tmp_path):
    """A table in which every number is known: process i is 1 % of the kernel's time above i - 1."""
    lines = []
    for tool, added in ADDED.items():
        for process in range(3):
            for point in points("h200"):
                kernel = 2.0 + point.call_bytes / 4e6  # µs, at 4 TB/s
                time = kernel * (1 + 0.01 * (process - 1)) + added
                found = {"time_us": time, "low": 0.9 * time, "high": 1.1 * time, "cost_s": 0.5}
                if (tool, process, point.N) == ("do_bench", 2, 256):
                    found = {"error": "RuntimeError: out\nof memory"}
                lines.append(table.line(tool, process, point, **found))
    path = tmp_path / "side_by_side.csv"
    table.write(path, lines)
    return path


def test_a_tool_is_compared_with_the_arbiter_at_every_point(data):
    found = summary.per_point(summary.load(data)).set_index(["harness", "variant", "N", "M"])
    first = found.loc[("do_bench", "torch_softmax", 1024, 1024)]
    kernel = 2.0 + 2 * 4 * 1024 * 1024 / 4e6
    assert first["kernel_us"] == pytest.approx(kernel, rel=1e-5)
    assert first["ratio"] == pytest.approx((kernel + 2) / kernel, rel=1e-4)
    assert first["between"] == pytest.approx(0.02 * kernel / (kernel + 2), rel=1e-3)
    assert first["within"] == pytest.approx(0.2, rel=1e-4)
    assert (first["failed"], first["processes"]) == (0, 3)
    assert found.loc[("do_bench", "torch_softmax", 256, 1024), "failed"] == 1


def test_one_process_has_no_spread(data):
    lines = summary.load(data)
    found = summary.per_point(lines[lines["process"] == 0])
    assert found["between"].isna().all()


def test_the_table_has_a_line_per_band_and_tool(data, capsys):
    assert cli.main(["table", "--data", str(data)]) == 0
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if line.startswith("**")] == [
        "**Kernels below 10 µs** (6 points)",
        "**Kernels 10 to 100 µs** (8 points)",
        "**Kernels above 100 µs** (16 points)",
    ]
    tools_named = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| tr")]
    assert tools_named == ["| triton do_bench"] * 3
    # Worst where a kernel takes 2.52 µs and do_bench adds 2. Of its three processes, at 99, 100 and
    # 101 % of the kernel's time, the last failed: (0.995 · 2.52 + 2) / 2.52.
    assert " … 1.787 |" in text
    assert "| 2 of 18 |" in text
    assert "nan" not in text


def test_a_point_without_the_arbiter_is_named(data):
    lines = summary.load(data)
    first = (lines["M"] == 1024) & (lines["N"] == 256) & (lines["variant"] == "triton_row")
    text = summary.markdown(lines[~(first & (lines["harness"] == "cupti"))])
    assert text.endswith("Not timed by CUPTI, so in no band: triton_row 1024x256.")


def test_another_table_is_refused(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("harness,time\n")
    with pytest.raises(ValueError, match="not the columns"):
        summary.load(path)


def test_the_figure_has_a_line_per_tool(data, tmp_path):
    output = tmp_path / "figures" / "side_by_side.png"
    assert cli.main(["draw", "--data", str(data), "--output", str(output)]) == 0
    assert output.read_bytes().startswith(b"\x89PNG")
    drawn = figure.draw(summary.per_point(summary.load(data)))
    spread, ratio, cost = (
        {line.get_gid(): line for line in axes.lines if line.get_gid() in tools.LABELS}
        for axes in drawn.axes
    )
    assert set(spread) == set(cost) == {"cupti", "ours", "do_bench"}
    assert set(ratio) == {"ours", "do_bench"}
    assert len(ratio["ours"].get_xdata()) == 15
    assert list(cost["ours"].get_ydata()) == [0.5] * 15


def test_few_samples_have_no_quantiles():
    assert harnesses.summary([3.0, 1.0, 2.0]) == {"time_us": 2.0, "n_samples": 3}
    found = harnesses.summary([float(i) for i in range(11)])
    assert found == {"time_us": 5.0, "n_samples": 11, "low": 2.0, "high": 8.0}


def test_a_process_writes_a_line_per_point_whatever_happens(tmp_path, monkeypatch):
    def time_us(call, x, out):
        assert torch.equal(out, torch.softmax(x, dim=-1))  # it has run once
        if x.shape[1] == 16:
            raise RuntimeError("not this\none")
        return harnesses.summary([1.0, 2.0, x.shape[1]])

    fake = SimpleNamespace(time_us=time_us)
    monkeypatch.setattr(worker.harnesses, "load", lambda name: fake)
    path = tmp_path / "part.csv"
    process = worker.Process("do_bench", 3, path, SMALL)
    process.device = torch.device("cpu")
    process.run()
    lines = table.read(path)
    assert [(line["N"], line["time_us"]) for line in lines] == [("8", "2"), ("16", ""), ("32", "2")]
    assert [line["error"] for line in lines] == ["", "RuntimeError: not this one", ""]
    assert all(float(line["cost_s"]) >= 0 for line in lines if not line["error"])
    assert {(line["harness"], line["process"]) for line in lines} == {("do_bench", "3")}


def test_a_tool_may_own_the_loop(tmp_path, monkeypatch):
    def time_all(count, prepare, record, fail):
        x = prepare(count - 1)[1]
        record(count - 1, {"time_us": 7.0, "n_samples": x.shape[1]}, 0.25)
        fail(0, "no samples")

    monkeypatch.setattr(worker.harnesses, "load", lambda name: SimpleNamespace(time_all=time_all))
    path = tmp_path / "part.csv"
    process = worker.Process("cuda_bench", 0, path, SMALL)
    process.device = torch.device("cpu")
    process.run()
    last, first = table.read(path)
    assert (last["time_us"], last["n_samples"], last["cost_s"]) == ("7", "32", "0.25")
    assert first["error"] == "no samples"
    assert table.missing([last, first], SMALL) == SMALL[1:2]


def test_processes_take_turns_and_what_is_there_is_kept(tmp_path, monkeypatch, capsys):
    started = []

    def command(command, log, timeout_s):
        _, _, _, harness, process, path, count = command
        started.append((process, harness))
        for point in points("cpu", int(count))[:-1]:
            line = table.line(harness, int(process), point, time_us=2.0)
            table.append(study.Path(path), [line])
        return "the process ended with code -11: "

    monkeypatch.setattr(study, "run_command", command)
    only = ("do_bench", "cupti")
    study.measure(tmp_path, 2, only, 3)
    assert started == [("0", "do_bench"), ("0", "cupti"), ("1", "do_bench"), ("1", "cupti")]
    lines = table.read(tmp_path / "side_by_side.csv")
    assert len(lines) == 2 * 2 * 3
    assert [bool(line["error"]) for line in lines] == [False, False, True] * 4
    assert lines[2]["error"] == "the process ended with code -11:"
    assert "cupti: " in capsys.readouterr().out
    assert "measure_sha256" in (tmp_path / "side_by_side.yaml").read_text()

    study.measure(tmp_path, 3, only, 3)
    assert started[4:] == [("2", "do_bench"), ("2", "cupti")]


def test_a_tool_that_timed_nothing_is_tried_again(tmp_path):
    lines = [table.line("cuda_bench", 0, point, error="not installed") for point in SMALL]
    path = tmp_path / "part.csv"
    table.append(path, lines)
    assert not study._complete(table.read(path), SMALL)
    assert not study._complete([], SMALL)


def test_how_a_process_ended(tmp_path):
    log = tmp_path / "log"
    code = "import sys; print('first'); sys.exit('the last words')"
    ended = study.run_command([sys.executable, "-c", code], log, 60)
    assert ended == "the process ended with code 1: the last words"
    hangs = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert study.run_command(hangs, log, 0.2) == "killed after 0.2 s"


@pytest.mark.slow  # it imports what the test above of a process fakes
def test_a_real_process_of_a_tool_that_needs_no_gpu(tmp_path, monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    path = tmp_path / "part.csv"
    study._process("blocked_autorange", 0, path, points("cpu", 2))
    torch_line, triton_line = table.read(path)
    assert float(torch_line["low"]) <= float(torch_line["time_us"]) <= float(torch_line["high"])
    assert 0.1 < float(torch_line["cost_s"]) < 30  # it spends 0.2 s
    assert triton_line["error"]


def test_a_row_of_ours_becomes_a_line():
    times = {"time_us": 3.14159265, "time_us_q20": 3.0, "time_us_q80": 3.5}
    row = {"status": "ok", "n_samples": 50, "wall_s": 2.5, **times}
    line = study._of_row("ours", 1, SMALL[0], row)
    assert [line[k] for k in ("time_us", "low", "high", "n_samples", "cost_s", "error")] == [
        *("3.14159", "3", "3.5", 50, "2.5", "")
    ]
    line = study._of_row("ours", 1, SMALL[0], {"status": "timeout", "message": "killed"})
    assert (line["time_us"], line["error"]) == ("", "timeout: killed")


def event(name, start, end, device=DeviceType.CUDA):
    interval = SimpleNamespace(elapsed_us=lambda: end - start)
    return SimpleNamespace(name=name, device_type=device, time_range=interval)


def test_cupti_counts_the_softmax_and_nothing_else():
    flush = event("void at::native::vectorized_elementwise_kernel<FillFunctor<signed char>>", 0, 90)
    host = event("softmax", 0, 1000, DeviceType.CPU)
    kernels = [event("softmax_fwd_kernel_row", 0, 3), event("cunn_SoftMaxForward<4>", 10, 15)]
    assert cupti.kernel_times_us([flush, host, *kernels]) == [3, 5]
    with pytest.raises(RuntimeError, match="but void at::native::vectorized"):
        cupti.kernel_times_us([flush, host])


class Nvbench:
    """As much of ``cuda.bench`` as the harness touches; one point of three has no samples."""

    def __init__(self):
        self.states, self.argv = [], None

    def register(self, function):
        self.function = function
        return self

    def set_name(self, name):
        return self

    def add_int64_axis(self, name, values):
        self.name, self.values = name, values
        return self

    def run_all_benchmarks(self, argv):
        self.argv = argv
        for value in self.values:
            state = SimpleNamespace(
                point={self.name: str(value)},
                is_skipped=False,
                skip_reason=None,
                samples=[2e-6] * 6,
            )
            state.get_int64 = lambda name, value=value: value

            def skip(reason, state=state):
                state.is_skipped, state.skip_reason, state.samples = True, reason, None

            state.skip = skip
            self.function(state)
            self.states.append(state)

    def from_json(self, path):
        assert str(path) == self.argv[-1]
        return {"points": self.states}


def test_nvbench_owns_the_loop_and_its_failures_stay_apart(monkeypatch):
    bench = Nvbench()
    results = SimpleNamespace(BenchmarkResult=bench)
    monkeypatch.setitem(sys.modules, "cuda", SimpleNamespace(bench=bench))
    monkeypatch.setitem(sys.modules, "cuda.bench", bench)
    monkeypatch.setitem(sys.modules, "cuda.bench.results", results)
    monkeypatch.setattr(cuda_bench, "_sample", lambda state, call, x, out: 0.5)
    recorded, failed = {}, {}

    def prepare(index):
        if index == 1:
            raise MemoryError("too large")
        return "call", "x", "out"

    cuda_bench.time_all(
        3,
        prepare,
        lambda index, found, cost_s: recorded.update({index: (found, cost_s)}),
        lambda index, reason: failed.update({index: reason}),
    )
    assert set(recorded) == {0, 2}
    found, cost_s = recorded[2]
    assert (found["n_samples"], cost_s) == (6, 0.5)
    assert math.isclose(found["time_us"], 2.0)
    assert failed == {1: "MemoryError: too large"}
    assert bench.argv[bench.argv.index("--timeout") + 1] == "1.0"


def test_the_table_reads_back_as_written(data):
    lines = summary.load(data)
    assert list(lines.columns) == list(table.COLUMNS)
    assert isinstance(lines, pd.DataFrame)
    assert set(lines["error"]) == {"", "RuntimeError: out of memory"}
    assert lines["n_samples"].isna().all()
