"""`make shape` and `make peers`: bad input, a check on a CPU, and the limit of two minutes."""

import re
from pathlib import Path

import pytest

import kernels
from measure import ROOT
from measure.device import gpus
from tools import peers, shape

KERNEL = """import torch

def logsumexp(x, out=None):
    return torch.logsumexp(x.float(), dim=1, out=out){wrong}
"""


@pytest.fixture(autouse=True)
def on_a_cpu(monkeypatch, tmp_path):
    monkeypatch.setattr(gpus, "visible_gpus", list)
    monkeypatch.setattr(gpus, "resolve", lambda gpu: "cpu")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--M=4096"], "N is missing: make shape M=4096 N=128256"),
        (["--M=4096", "--N=abc"], "N = 'abc': a whole number of at least 1 is needed"),
        (["--M=0", "--N=8"], "M = 0: a whole number of at least 1 is needed"),
        (["--M=4", "--N=8", "--dtype=fp16"], "unknown dtype 'fp16'; did you mean 'float16'?"),
        (["--M=4", "--N=8", "--op=softmx"], "unknown op 'softmx'; did you mean 'softmax'?"),
        (["--M=4", "--N=8", "--kernel=no.py"], "kernel 'no.py': no such file"),
        (["--M=4", "--N=8", "--profile=x"], "PROFILE needs KERNEL, the kernel to profile"),
        (["--M=4", "--N=8", "--kernel=frontier", "--profile=x"], "--profile: Nsight Compute"),
        (["--M=4", "--N=8", "--kernel=short.py"], "short.py does not compute softmax, but logsum"),
    ],
)
def test_bad_input_gets_one_line(words, message, capsys):
    Path("short.py").write_text(KERNEL.format(wrong=""), encoding="utf-8")
    assert shape.main(words) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"error: {message}")
    assert (said.err.count("\n"), said.out) == (1, "")


def test_torch_is_the_variant_that_has_its_function(capsys):
    assert shape.main(["--M=4", "--N=64", "--op=token_log_prob_entropy"]) == 0
    assert re.search("^  torch_logits +right$", capsys.readouterr().out, re.MULTILINE)


def test_without_a_gpu_kernels_are_checked_and_no_time_is_printed(capsys):
    Path("shifted.py").write_text(KERNEL.format(wrong=" + 1"), encoding="utf-8")
    words = ["--M=4096", "--N=64", "--op=logsumexp", "--kernel=shifted.py"]
    assert shape.main(words) == 1
    said = capsys.readouterr().out
    assert re.search("^  torch_logits +right$", said, re.MULTILINE)
    assert "kernels were checked on 16 of 4096 rows, and nothing was timed on a GPU" in said
    assert said.splitlines()[-1].startswith("shifted: not timed, incorrect: ")
    assert "µs" not in said
    right = shape.main([*words[:3], "--kernel=torch_logits"]), capsys.readouterr().out
    assert (right[0], right[1].splitlines()[-1]) == (0, "torch_logits: not timed, right")
    rows = list(Path("results/rows/cpu/logsumexp").rglob("M16_N64/*.csv"))
    assert len(rows) == 4  # the given kernel, torch, torch.compile and frontier_logits
    before = [row.stat().st_mtime_ns for row in rows]
    assert shape.main(words) == 1
    assert [row.stat().st_mtime_ns for row in rows] == before  # nothing is measured again


def test_without_torch_one_line_says_so_and_a_check_without_a_row_counts_none(monkeypatch, capsys):
    monkeypatch.setattr(shape, "measure", lambda point, row: "no row")
    assert shape.main(["--M=4", "--N=8"]) == 1
    assert "kernels were checked on 0 of 4 rows" in capsys.readouterr().out
    monkeypatch.setattr(shape.importlib.util, "find_spec", lambda name: None)
    assert shape.main(["--M=4", "--N=8"]) == 2
    said = capsys.readouterr()
    assert said.err == "error: torch is not installed in .venv: run `make run`\n"
    assert said.out == ""


def test_a_kernel_of_the_project_is_given_by_its_name_or_its_file(monkeypatch):
    monkeypatch.chdir(ROOT)
    file = "kernels/published/triton_row.py"
    for kernel in ("triton_row", file, f"./{file}", str(ROOT / file)):
        words = ["--M=4", "--N=8", f"--kernel={kernel}"]
        asked = shape.question(shape.parser().parse_args(words))
        planned = [point.variant for point in shape.plan(asked)]
        assert planned == ["triton_row", *kernels.rivals("softmax")]
    config = shape.question(
        shape.parser().parse_args([*words[:2], "--kernel=frontier_rows__k4w16"])
    )
    assert config.variant == "frontier_rows__k4w16"


def test_what_is_profiled_is_what_is_timed():
    asked = shape.question(shape.parser().parse_args(["--M=4", "--N=8", "--kernel=triton_row"]))
    timed, *_ = shape.plan(asked)
    assert (asked.variant, asked.distribution) == (timed.variant, timed.distribution)


def test_on_a_gpu_no_point_starts_after_its_time(monkeypatch):
    monkeypatch.setattr(gpus, "resolve", lambda gpu: "h200")
    options = shape.parser().parse_args(["--M=4", "--N=8"])
    planned, clock = shape.plan(shape.question(options)), iter([0, 1, 2, *[99] * 99])
    monkeypatch.setattr(shape.time, "monotonic", lambda: next(clock))
    measured = []
    monkeypatch.setattr(shape, "measure", lambda point, row: measured.append(point))
    late = shape.measure_all(planned)
    assert measured == planned[:2]
    assert late == {point.variant: shape.NO_TIME for point in planned[2:] if point.replicate == 1}


def test_the_kernel_is_profiled_after_the_answer(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(shape.profile, "require_profiler", lambda *_: None)  # it refuses a CPU
    monkeypatch.setattr(shape.profile, "write_profile", lambda *words: asked.append(words) or "x")
    monkeypatch.setattr(shape, "answered", lambda point, has_kernel: 1)
    words = ["--M=4", "--N=8", "--kernel=triton_row", "--profile=x"]
    assert shape.main(words) == 1
    ((point, file),) = asked
    assert (point.variant, file) == ("triton_row", Path("x"))
    assert capsys.readouterr().out == "profile: x\n"


def test_peers_are_listed_with_why_they_do_not_run(monkeypatch, capsys):
    monkeypatch.setattr(peers, "measure", lambda point, row: f"no {point.variant}")
    assert peers.list_peers() == 0
    *lines, last = capsys.readouterr().out.splitlines()
    named = [line.split()[0] for line in lines]
    assert named == [name for name in kernels.names() if name.startswith("peer_")]
    assert "peer_trl" in named, "which computes no softmax"
    assert last == f"0 of {len(lines)} run here: none"


def test_peers_are_not_listed_beside_a_kernel_file_of_a_bad_name(monkeypatch, capsys):
    def names():
        raise kernels.KernelFileError("my__kernel.py: rename the file")

    monkeypatch.setattr(kernels, "names", names)
    assert shape.exit_code(peers.list_peers) == 2
    assert capsys.readouterr().err == "error: my__kernel.py: rename the file\n"


def test_after_ctrl_c_there_is_no_traceback_and_shape_says_how_to_continue(monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    for tool, work in ((shape, lambda: shape.main(["--M=4", "--N=8"])), (peers, peers.list_peers)):
        monkeypatch.setattr(tool, "measure", interrupt)
        assert shape.exit_code(work) == 130
    assert "interrupted: rerun the command to continue" in capsys.readouterr().err
