"""Kernels whose blocks exchange states give the same bits under delays, and on a busy GPU."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
import torch

import kernels
import operations
from kernels.cuda import grid_workspace, launch, sources
from measure import inputs
from tests.marks import slow

# A thread sleeps up to 16 µs before it publishes a state: far longer than an exchange takes. These
# lines are in a copy of the headers alone.
DELAY = """
__device__ inline void stress_delay() {
  unsigned clock;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(clock));
  __nanosleep(((clock ^ blockIdx.x * 2654435761u ^ threadIdx.x * 40503u) * 2246822519u) >> 18);
}
"""
PUBLISHES = [  # (header, the beginning of a function's only line that makes a state visible)
    ("cluster.cuh", "  if constexpr (sizeof(State) == 4) {"),
    ("grid_workspace.cuh", "    const Tagged published"),
    ("grid_workspace.cuh", "  if (is_first_lane) before = atomicAdd"),
]
# Configs of kernels whose blocks share a row: a cluster of few blocks, one of many, the whole GPU.
CASES = [
    ("frontier_spread__k4w8", "softmax", torch.float32, 40_001, 40),
    ("frontier_spread__k8w8", "log_softmax", torch.bfloat16, 2**20, 7),
    slow("frontier_spread__k8w8", "softmax", torch.float32, 2**22, 3),  # several tiles a block
    ("frontier_rows__k2w8", "softmax", torch.float32, 8320, 600),
    slow("frontier_rows__k4w16", "log_softmax", torch.bfloat16, 200_000, 30),
    ("frontier_staged__k4w8", "softmax", torch.bfloat16, 50_257, 100),
    ("cuda_backward", "softmax_backward", torch.float32, 20_001, 100),
    slow("cuda_backward", "log_softmax_backward", torch.bfloat16, 262_144, 20),
    # the last block of a row merges the states of all; then a cluster as above
    ("frontier_logits", "token_log_prob_entropy", torch.float32, 200_001, 40),
    ("frontier_logits", "cross_entropy_and_gradient", torch.bfloat16, 100_000, 40),
]
ROUNDS = 300


@pytest.fixture
def with_delays(tmp_path, monkeypatch):
    """Call it to compile all further kernels with DELAY before each publication."""

    def begin() -> None:
        folder = shutil.copytree(sources.INCLUDE, tmp_path / "include")
        with (folder / "state.cuh").open("a", encoding="utf-8") as file:
            file.write(DELAY)
        for name, line in PUBLISHES:
            text = (folder / name).read_text(encoding="utf-8")
            assert text.count(line) == 1
            (folder / name).write_text(
                text.replace(line, f"  stress_delay();\n{line}"), encoding="utf-8"
            )
        monkeypatch.setattr(sources, "INCLUDE", folder)
        forget()

    def forget() -> None:
        launch._kernel.cache_clear()
        launch._loaded.clear()

    yield begin
    monkeypatch.undo()
    forget()


@pytest.mark.gpu
@pytest.mark.parametrize(("variant", "op", "dtype", "cols", "rows"), CASES)
def test_the_same_bits_under_delays_on_a_busy_gpu(
    variant, op, dtype, cols, rows, with_delays, device
):
    """On two streams and in a graph on a third at once, by several threads, beside copies."""
    function = kernels.load(variant).function(op)
    read = [inputs.draw_for(op, "normal", dtype, rows, cols, s, device) for s in range(3)]
    quiet = [operations.as_tuple(function(*tensors)) for tensors in read]
    torch.cuda.synchronize()
    with_delays()
    outputs = [tuple(map(torch.empty_like, tensors)) for tensors in quiet]
    out = [operations.as_out(tensors) for tensors in outputs]
    function(*read[0], out[0])  # compiled by now
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function(*read[2], out[2])
    torch.cuda.synchronize()
    done, wrong = threading.Event(), []

    def work(number: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream(device)):
            for _ in range(ROUNDS):
                for output in outputs[number]:
                    output.zero_()
                graph.replay() if number == 2 else function(*read[number], out[number])
                torch.cuda.current_stream().synchronize()
                if not all(map(torch.equal, outputs[number], quiet[number])):
                    wrong.append(number)

    def copy() -> None:
        a, b = torch.zeros(2, 2**24, device=device)
        with torch.cuda.stream(torch.cuda.Stream(device)):
            while not done.is_set():
                b.copy_(a)
                torch.cuda.current_stream().synchronize()

    with ThreadPoolExecutor() as pool:
        working = [pool.submit(work, number) for number in range(3)]
        copying = pool.submit(copy)
        wait(working)
        done.set()
    for tensor in (*working, copying):
        tensor.result()
    assert not wrong


@pytest.mark.gpu
def test_a_new_workspace_waits_for_no_other_stream(device, monkeypatch):
    """A workspace is zero at once, even if the stream that asked first is busy."""
    monkeypatch.setattr(grid_workspace, "_addresses", {})
    monkeypatch.setattr(grid_workspace, "_graphs", [])
    monkeypatch.setattr(grid_workspace, "_free", {})
    x = torch.randn(3, 2**20, device=device)
    expected, softmax = torch.softmax(x, -1), kernels.load("frontier_spread").softmax
    torch.cuda.synchronize()
    outputs = []
    for sleep in (100_000_000, 0):
        with torch.cuda.stream(torch.cuda.Stream(device)):
            torch.cuda._sleep(sleep)
            outputs.append(softmax(x))
    torch.cuda.synchronize()
    for y in outputs:
        torch.testing.assert_close(y, expected)
