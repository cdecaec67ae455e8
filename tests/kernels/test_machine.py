"""``python -m kernels info`` and ``warm-up``."""

import pytest
import torch

from kernels import __main__ as command_line
from kernels.cuda import cache
from kernels.cuda.plan import GPUS, Problem, widest_pack
from kernels.dropin import machine
from kernels.frontier import frontier
from tests.processes import run_code


def test_info_lists_versions_gpu_kernels_and_cache(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    (tmp_path / "nvrtc").mkdir()
    (tmp_path / "nvrtc" / "binary").write_bytes(bytes(2_500_000))
    assert command_line.main(["info"]) == 0
    facts = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert facts["torch"].partition("+")[0] == torch.__version__.partition("+")[0]
    assert {*machine.DISTRIBUTIONS} <= {*facts}
    assert facts["cache"] == f"{tmp_path}, 2.5 MB; SOFTMAX_BENCH_CACHE names another folder"
    assert facts["kernels"].startswith("none: ") != torch.cuda.is_available()


@pytest.mark.parametrize(
    ("capability", "packages", "words"),
    [
        ((9, 0), True, ["CUDA C++ for rows, Triton for columns", "CUDA C++ for rows"]),
        ((8, 0), True, ["Triton; CUDA C++ needs compute capability 9.0", "CUDA C++ for rows"]),
        ((9, 0), False, ["Triton; for CUDA C++: pip install", "torch; for CUDA C++: pip install"]),
        ((7, 5), True, ["no kernel: its compute capability is too old"]),
    ],
)
def test_info_names_the_routes_of_a_gpu(capability, packages, words, monkeypatch):
    monkeypatch.setattr(machine.eligible, "runs_kernels", lambda index: capability >= (8, 0))
    monkeypatch.setattr(
        machine.eligible,
        "runs_cuda_kernels",
        lambda index, needed=(9, 0): packages and capability >= needed,
    )
    routes = [route for _, route in machine.kernels_of(0)]
    assert all(map(str.startswith, routes, words))
    assert len(routes) == len(words)


WITHOUT = {  # a machine's lack -> (attribute of torch, its value)
    "built without CUDA": ("version.cuda", None),
    "no NVIDIA GPU here": ("cuda.is_available", lambda: False),
    "capability 8.0 or newer": ("cuda.get_device_capability", lambda index: (7, 5)),
}


@pytest.mark.parametrize("words", WITHOUT)
def test_warm_up_without_a_gpu_is_one_message(words, monkeypatch, capsys):
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(f"torch.{WITHOUT[words][0]}", WITHOUT[words][1])
    machine.eligible.runs_kernels.cache_clear()
    assert command_line.main(["warm-up", "--N", "1024"]) == 2
    machine.eligible.runs_kernels.cache_clear()
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("error: ")
    assert words in err


def test_warm_up_takes_every_gpu_that_runs_kernels(monkeypatch):
    warm = []
    monkeypatch.setattr(machine, "why_none", lambda: None)
    monkeypatch.setattr(machine, "warm_up_rows", lambda row_bytes: ())
    monkeypatch.setattr(machine.eligible, "runs_kernels", lambda index: index != 1)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "synchronize", warm.append)
    machine.warm_up(["float32"], [64])
    assert warm == ["cuda:0", "cuda:2"]


@pytest.mark.parametrize("length", ["0", "-1", "many", str(2**30 + 1)])
def test_a_length_that_cannot_be_is_named(length, capsys):
    with pytest.raises(SystemExit, match="2"):
        command_line.main(["warm-up", f"--N={length}"])
    assert f"{length!r} is not a row length from 1 to 1073741824" in capsys.readouterr().err


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_warm_up_meets_the_kernels_of_any_number_of_rows(dtype):
    for cols in (1, 33, 1001, 5001, 200_000, 300_001, 5_000_001):

        def kernels_for(every, cols=cols):
            pack = widest_pack(dtype.itemsize, 0, cols)
            problems = (Problem(dtype, rows, cols, pack, False, GPUS["sm_90"]) for rows in every)
            return {frontier.plan(problem)[0].kernel for problem in problems}

        warm = kernels_for(machine.warm_up_rows(cols * dtype.itemsize))
        assert kernels_for([3, 10**2, 10**4, 10**6, 10**8]) <= warm, cols


# Another process, in which compiling is an error.
AFTER = """
import torch
from kernels import softmax
from kernels.cuda import nvrtc
del nvrtc.build
for rows in (1, 48, 123):
    for cols in (1000, 30_000):
        x = torch.randn(rows, cols, device="cuda", requires_grad=True)
        y = softmax(x, -1)
        torch.testing.assert_close(y, torch.softmax(x, -1))
        y.cos().sum().backward()
"""


@pytest.mark.gpu
def test_after_warm_up_no_process_compiles(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    words = ["warm-up", "--dtype", "float32", "--N", "1000", "30000"]
    run_code(f"from kernels.__main__ import main; assert main({words}) == 0")
    compiled = cache.size()
    assert compiled > 0
    run_code(AFTER)
    assert cache.size() == compiled
