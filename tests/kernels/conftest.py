"""Fixtures: turns for tests that fill a GPU, the emulator, and the drop-in's launches."""

import fcntl
import os
import sys

import pytest


@pytest.fixture
def exclusive_gpu_memory(tmp_path_factory):
    """Give tests with tens of gigabytes on the GPU turns, among all processes of this run."""
    import torch  # not above: by then the number of threads is set

    with (tmp_path_factory.getbasetemp().parent / "large.lock").open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
        torch.cuda.empty_cache()  # what torch would keep is the next test's, in another process


@pytest.fixture(autouse=True)
def no_kernel_fails_in_silence():
    """Fail where the drop-in took another route than it should have: its results look the same."""
    yield
    if dispatch := sys.modules.get("kernels.dropin.dispatch"):
        failed = dispatch._warned.copy()
        dispatch._warned.clear()
        dispatch._failed.clear()
        assert not failed


@pytest.fixture
def reset_dynamo():
    """Forget what torch.compile compiled: it takes a few layouts for each function."""
    import torch

    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture(scope="session")
def emulated(tmp_path_factory):
    """Return the emulator of CUDA C++; all processes of this run share what it compiles."""
    from tests.kernels.emulator import run

    if run.COMPILER is None:
        pytest.skip("g++ is not here")
    base = tmp_path_factory.getbasetemp()
    run.keep_in((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "emulated")
    return run


@pytest.fixture
def launches(device, monkeypatch):
    """List (launching function, addresses of tensors, numbers …) of each launch of the drop-in.

    A launch that repeats a known one is noted without numbers. Tensors are not kept, because
    torch.compile's CUDA graphs refuse to run where a tensor of theirs lives on.
    Without a GPU the drop-in takes tensors of the CPU here, for Triton's interpreter, and
    ``replace_torch`` the operators of the CPU.
    """
    import torch

    from kernels.dropin import eligible, entry, replace

    monkeypatch.setattr(replace, "BACKEND", device.type.upper())
    if device.type == "cpu":
        monkeypatch.setattr(eligible, "usable", lambda x: x.device.type == "cpu")
    made, launch = [], entry._launch

    def note_and_launch(*words):
        made.append(tuple(w.data_ptr() if isinstance(w, torch.Tensor) else w for w in words))
        return launch(*words)

    def noting(repeat, function):
        def note_and_repeat(*tensors):
            y = repeat(*tensors)
            made.append((function, *(t.data_ptr() for t in (*tensors, y))))
            return y

        return note_and_repeat

    class Launches(dict):
        def __setitem__(self, key, known):
            repeat = noting(known.repeat, entry._dispatch().forward)
            super().__setitem__(key, known._replace(repeat=repeat))

    class Gradients(dict):
        def __setitem__(self, key, repeat):
            super().__setitem__(key, noting(repeat, entry._dispatch().backward))

    monkeypatch.setattr(entry, "_launch", note_and_launch)
    monkeypatch.setattr(entry, "known_launches", Launches())
    monkeypatch.setattr(entry, "_known_gradients", Gradients())
    yield made
    assert not replace._active, "a test left torch replaced"
