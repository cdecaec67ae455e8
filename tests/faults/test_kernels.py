"""Kernels that fail: the job ends with a row that says so, and nothing of them runs on.

What else a kernel may do is in tests/measure: test_whatever_a_kernel_does.py, test_reaper.py.
"""

import resource

import pytest

from tests.processes import until

# Of libc's own bookkeeping, which lies before every block that malloc() gives.
SMASHES = """
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
block = libc.malloc(4000)
ctypes.memset(block - 16, 0x41, 32)
libc.free(block)
"""
DEAF = """
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
ctypes.PyDLL(None).sleep(1000)
"""


def with_little_memory() -> None:
    """In a child: 1.5 GiB and no more, so that this machine is in no danger."""
    resource.setrlimit(resource.RLIMIT_DATA, (3 * 2**29, 3 * 2**29))


def test_a_kernel_that_is_refused_more_memory_has_run_out_of_it(sweep):
    sweep.write_kernel("eats", "hog = []\nwhile True: hog.append(torch.ones(2**22))")
    row, _ = sweep.point("eats", preexec_fn=with_little_memory)
    assert row["status"] == "out_of_memory"


@pytest.mark.parametrize(
    ("act", "words"),
    [(SMASHES, "the process ended (signal SIG"), ("os.closerange(0, 1000)", "")],
    ids=["corrupts the heap", "closes every file"],
)
def test_a_kernel_that_ruins_its_process_crashes_alone(sweep, act, words):
    sweep.write_kernel("ruins", act)
    row, _ = sweep.point("ruins")
    assert row["status"] == "crash"
    assert row["message"].startswith(words)
    until(sweep.nothing_runs)


@pytest.mark.slow  # 20 s each; tests/measure has a quick one of a kernel that sleeps
@pytest.mark.parametrize(
    "act",
    [DEAF, "os.kill(os.getpid(), signal.SIGSTOP)"],
    ids=["lets no signal and no thread in", "stops itself"],
)
def test_a_kernel_that_does_not_react_is_timed_out(sweep, act):
    sweep.write_kernel("waits", act)
    row, _ = sweep.point("waits", "--timeout", "20")
    assert row["status"] == "timeout"
    until(sweep.nothing_runs)
