"""Whatever fails in a kernel's way leaves the call to the next route, with one warning."""

import contextlib
import logging
import sys
from unittest import mock

import pytest
import torch
from cuda.bindings import driver

import kernels
from kernels.cuda import grid_workspace, launch, submit
from kernels.dropin import library_function, routes
from kernels.dropin.functions import FUNCTIONS
from kernels.dropin.logits.rows import may_launch, row_kernels
from kernels.logits import RowOptions, RowTensors
from tests.kernels.helpers.dropin import OPS, assert_gradient, assert_right
from tests.marks import slow

COLS = 4100  # columns of float32 whose backward is in CUDA C++
CAUSE = "the driver is too old for this binary"


@pytest.fixture
def warnings(caplog):
    """The warnings of the drop-in; what failed is forgotten at the end."""
    caplog.set_level(logging.WARNING, library_function.logger.name)
    yield lambda: [record.getMessage() for record in caplog.records]
    library_function._warned.clear()
    library_function._failed.clear()


def answers(
    op: str, x: torch.Tensor, caller: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return y, g and dx of a softmax over the last dimension, called in one of three ways."""
    x = x.detach().requires_grad_()
    g = torch.randn(x.shape, device=x.device, dtype=x.dtype)
    with kernels.replace_torch() if caller == "replaced" else contextlib.nullcontext():
        if caller == "operator":
            y = getattr(torch.ops.softmax_bench, op)(x, x.dim() - 1, None)
        else:
            y = getattr(torch if caller == "replaced" else kernels, op)(x, -1)
        (dx,) = torch.autograd.grad(y, x, g)
    return y.detach(), g, dx


def assert_answers(op: str, x: torch.Tensor, caller: str) -> None:
    y, g, dx = answers(op, x, caller)
    assert_right(y, x, x.dim() - 1, op)
    assert_gradient(dx, g, y, x.dim() - 1, op)


def failing(error: Exception = RuntimeError(CAUSE)) -> mock.Mock:  # noqa: B008
    return mock.Mock(side_effect=error)


def set_cuda(monkeypatch, forward: mock.Mock, backward: mock.Mock | None = None) -> None:
    """Let these stand for the launches in CUDA C++."""
    launches = mock.Mock(forward=forward, backward=backward or mock.Mock(return_value=None))
    monkeypatch.setattr(routes, "cuda_kernels", lambda index: launches)


def forget_launches() -> None:
    for function in FUNCTIONS:
        function.known_launches.clear()
        function.gradient.known_launches.clear()


@pytest.mark.parametrize("caller", ["function", "replaced", "operator"])
@pytest.mark.parametrize("op", [OPS[0], slow(OPS[1])])
def test_a_route_that_fails_is_followed_by_the_next_one(
    op, caller, launches, device, monkeypatch, warnings
):
    """By Triton, then by torch: forward and backward, each tried once and named once."""
    forward, backward = failing(), failing(OSError("libcuda.so.1: no such file"))
    set_cuda(monkeypatch, forward, backward)
    x = torch.randn(2, COLS, device=device)
    for _ in range(2):
        assert_answers(op, x, caller)
    assert forward.call_count == backward.call_count == 1
    assert [CAUSE in line and "Triton computes" in line for line in warnings()] == [True, False]
    assert "OSError: libcuda.so.1: no such file" in warnings()[1]
    forget_launches()
    triton = failing(ImportError("no module named triton"))
    monkeypatch.setattr(routes, "triton_kernels", triton)
    for _ in range(2):
        assert_answers(op, x, caller)
        assert_answers(op, x[:, :9], caller)
    assert triton.call_count == 4
    assert len(warnings()) == 4
    assert all("torch computes" in line for line in warnings()[2:])


def test_a_launch_that_is_known_may_fail_later(launches, device, monkeypatch, warnings):
    """As in a context with fewer multiprocessors; with and without a gradient."""
    x = torch.randn(4, 8, device=device)
    once = mock.Mock()  # the launch succeeds, and its repetition does not
    once.return_value.bind.return_value = failing()
    monkeypatch.setattr(routes, "MIN_BYTES", {True: 0})
    for requires_grad in (False, True):
        set_cuda(monkeypatch, once, once)
        FUNCTIONS[0].launch(1, None, x)
        FUNCTIONS[0].gradient.launch(1, x.dtype, x, x)
        set_cuda(monkeypatch, failing())
        leaf = x.clone().requires_grad_(requires_grad)
        y = kernels.softmax(leaf, -1)
        torch.testing.assert_close(y.detach(), torch.softmax(x, -1))
    (dx,) = torch.autograd.grad(y, leaf, x)
    assert_gradient(dx, x, y, 1, "softmax")
    assert once.return_value.bind.return_value.call_count == 3
    assert len(warnings()) == 1


def test_a_shortage_of_memory_is_not_for_good(launches, device, monkeypatch, warnings):
    for error in (
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("the CUDA driver says CUDA_ERROR_OUT_OF_MEMORY; free GPU memory"),
    ):
        forward = failing(error)
        set_cuda(monkeypatch, forward)
        for _ in range(2):
            kernels.softmax(torch.zeros(2, 99, device=device), -1)
        assert forward.call_count == 2
    assert len(warnings()) == 1


@pytest.fixture
def without_cuda_core(monkeypatch):
    """Let the import of these launchers fail, as where cuda-core is installed, but broken."""
    for name in ("kernels.cuda.launch", "kernels.logits.launch"):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delattr(name, raising=False)
    monkeypatch.setattr(routes, "runs_cuda_kernels", lambda index: True)
    for function in (routes.cuda_kernels, row_kernels):
        function.cache_clear()
    yield
    for function in (routes.cuda_kernels, row_kernels):
        function.cache_clear()


def test_cuda_core_that_cannot_be_loaded_leaves_all_to_triton_and_torch(
    without_cuda_core, warnings
):
    """It is looked for once, for softmax and for functions of logits."""
    x = mock.Mock(is_cuda=True, shape=(2, 5), dtype=torch.float32)
    x.is_neg.return_value = False
    x.element_size.return_value = 4
    for _ in range(2):
        assert routes.cuda_kernels(0) is None
        assert not may_launch(RowTensors(x), RowOptions("LogSumExp"))
    softmax_line, logits_line = warnings()
    assert "cannot be loaded. ModuleNotFoundError" in softmax_line or "ImportError" in softmax_line
    assert logits_line.startswith("functions of logits in CUDA C++ cannot be loaded. ")


def test_a_program_that_makes_errors_of_warnings_still_runs(
    launches, device, monkeypatch, warnings
):
    set_cuda(monkeypatch, failing())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", failing())
        x = torch.randn(2, 99, device=device)
        assert_right(kernels.softmax(x, -1), x, -1, "softmax")


# Steps between a call and its launch, in turn -> (owner, attribute, what fails instead)
REFUSED = lambda *_: int(driver.CUresult.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)  # noqa: E731
STEPS = {
    "compile": (launch, "build_once", failing()),
    "load": (launch, "_load", failing()),
    "attribute": (launch, "_set", failing()),
    "occupancy": (launch, "_blocks", failing(ValueError("64 blocks; 32 are resident"))),
    "launch": (submit, "_driver_launch", lambda: REFUSED),
    "workspace": (grid_workspace, "_zeros", failing()),
    "stream": (grid_workspace, "_stream_id", failing()),
    "capture": (grid_workspace, "_capture", failing()),
    "end of graph": (grid_workspace, "_end_of", failing()),
}
SPREAD = 2**19 + 1  # columns of float32 that many blocks share, a cluster's in the backward
OF_WORKSPACES = "workspace", "stream", "capture", "end of graph"


@pytest.fixture
def nothing_prepared(monkeypatch):
    """Forget what this process has compiled, loaded and allocated."""
    monkeypatch.setattr(launch, "_loaded", {})
    monkeypatch.setattr(grid_workspace, "_addresses", {})
    monkeypatch.setattr(grid_workspace, "_graphs", [])
    monkeypatch.setattr(grid_workspace, "_free", {})
    forget_launches()
    launch._kernel.cache_clear()
    yield
    launch._kernel.cache_clear()


@pytest.mark.gpu
@pytest.mark.parametrize("caller", ["function", "replaced"])
@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_failure_at_any_step_on_a_gpu(
    step, captured, caller, device, monkeypatch, warnings, nothing_prepared
):
    """Forward and backward, eager and in a capture, whose graph then computes the same."""
    owner, name, replacement = STEPS[step]
    # the backward in CUDA C++ needs rows that a cluster holds
    x = torch.randn(3, SPREAD if step in OF_WORKSPACES else 100_001, device=device)
    answers("softmax", x, "function")  # code that Triton and torch compile is not the subject
    library_function._failed.clear()
    forget_launches()
    launch._loaded.clear()
    for kept in (grid_workspace._addresses, grid_workspace._free):
        kept.clear()
    grid_workspace._graphs.clear()
    launch._kernel.cache_clear()
    monkeypatch.setattr(owner, name, replacement)
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    if captured:
        with torch.cuda.graph(graph):
            y, g, dx = answers("softmax", x, caller)
        graph.replay()
    else:
        with torch.cuda.stream(stream):
            y, g, dx = answers("softmax", x, caller)
    torch.cuda.synchronize()
    assert_right(y, x, 1, "softmax")
    assert_gradient(dx, g, y, 1, "softmax")
    fails = step != "stream" if captured else step not in ("capture", "end of graph")
    assert bool(warnings()) == fails, warnings()
    assert len(warnings()) <= 2


@pytest.mark.gpu
@pytest.mark.parametrize("cols", [1000, 40_001, 2**20])
def test_the_first_call_of_a_length_may_be_captured(cols, device, nothing_prepared):
    """It compiles and loads without ending the capture."""
    x = torch.randn(3, cols, device=device)
    for name in OPS:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = getattr(kernels, name)(x, -1)
        graph.replay()
        assert_right(y, x, 1, name)
