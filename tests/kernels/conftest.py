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
        torch.cuda.empty_cache()  # torch would keep it for the next test, in another process


@pytest.fixture(autouse=True)
def no_kernel_fails_in_silence():
    """Fail where the drop-in took another route than it should have: its results look the same."""
    yield
    if library_function := sys.modules.get("kernels.dropin.library_function"):
        failed = library_function._warned.copy()
        library_function._warned.clear()
        library_function._failed.clear()
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


# Kernel of logits -> places of x and its row stride among the arguments, and of the matrix that it
# writes in vectors. Other kernels write no matrix, and loss_mean reads none.
PLACES = {
    "logits_backward": ((9, 12), (8, 11)),
    "loss_and_gradient": ((9, 10), (16, 17)),
    "multiply_rows": ((0, 2), (0, 2)),
}


@pytest.fixture
def emulated_logits(emulated, monkeypatch):
    """Launch the kernels of logits in the emulator; return the list of launched plans."""
    from kernels.cuda.plan import Problem
    from kernels.logits import launch

    plans = []

    def launch_with(key, arguments):
        planner, dtype, rows, cols, pack, log, _, narrow = key
        plans.append(planner(Problem(dtype, rows, cols, pack, log, emulated.SMALL, narrow))[0])
        kernel, _, _ = plans[-1].kernel.partition("<")
        read = written = range(0)
        if kernel != "loss_mean":
            read, written = (
                emulated.addresses(arguments[begin], arguments[stride], rows, cols, dtype.itemsize)
                for begin, stride in PLACES.get(kernel, ((9, 10), (9, 10)))
            )
        emulated.call(plans[-1], arguments, [read], written)

    monkeypatch.setattr(launch.cuda, "launch_with", launch_with)
    monkeypatch.setattr(launch.cuda, "gpu_info", lambda _: emulated.SMALL)
    launch.fits_in_registers.cache_clear()
    return plans


@pytest.fixture
def operators(monkeypatch):
    """Let tensors of the CPU take a GPU's way; where a kernel would launch, torch computes."""
    from kernels.dropin.logits import api, rows

    for module in (rows, api):
        monkeypatch.setattr(module, "takes", lambda x: x.dtype in rows.DTYPES)


@pytest.fixture
def launches(device, monkeypatch):
    """List (name of the function, addresses of its inputs and output, …) of each launch.

    A launch that is made anew is noted with its sizes. Tensors are not kept, because
    torch.compile's CUDA graphs refuse to run where a tensor of theirs lives on.
    Without a GPU the drop-in takes tensors of the CPU here, for Triton's interpreter, and
    ``replace_torch`` the operators of the CPU.
    """
    from kernels.dropin import api, eligible, library_function, replace
    from kernels.dropin.functions import FUNCTIONS

    monkeypatch.setattr(replace, "BACKEND", device.type.upper())
    if device.type == "cpu":
        monkeypatch.setattr(eligible, "on_usable_device", lambda x: x.device.type == "cpu")
        for module in (api, library_function):
            monkeypatch.setattr(module, "current_device", lambda: -1)
    launched, launch = [], library_function.LibraryFunction._first_that_works

    def note(name, *tensors):
        return name, *(tensor.data_ptr() for tensor in tensors)

    def noting(name, repeater):
        """Return a repeater whose function notes each repetition of the launch."""

        def repeater_that_notes(allocate, again):
            repeat = repeater(allocate, again)

            def note_and_repeat(*tensors):
                y = repeat(*tensors)
                launched.append(note(name, *tensors, y))
                return y

            return note_and_repeat

        return repeater_that_notes

    def note_and_launch(self, call):
        launched.append((*note(self.name, *call.inputs, call.out), *call[2:]))
        is_computed, repeater = launch(self, call)
        return is_computed, repeater and noting(self.name, repeater)

    monkeypatch.setattr(library_function.LibraryFunction, "_first_that_works", note_and_launch)
    for function in FUNCTIONS:
        for declared in (function, function.gradient):
            monkeypatch.setattr(declared, "known_launches", {})
    return launched
