"""The frontier's kernels on a GPU, in every config: right, at any place, and in any batch."""

import threading

import pytest
import torch

import kernels
from tests.kernels.variants import DTYPES, assert_right, config_takes, run
from tests.marks import slow

pytestmark = pytest.mark.gpu

# Lengths at which each kernel takes another shape.
SIZES = {
    "frontier_short": [1, 4, 33, 96, 100, 128, 256],
    "frontier_packed": [1, 2, 10, 33, 100, 127, 250, 781],
    "frontier_staged": [2101, 3001, 8321, 12002, 50257, 151937],
    "frontier_rows": [3, 100, 781, 1024, 2500, 8320, 32768 + 5],
    "frontier_spread": [9000, 131072, 300001, 2**21, 2**22 + 1, 2**24],
}


def sizes(config: str, dtype: torch.dtype = torch.float32) -> list[int]:
    """Lengths of rows that the config takes, of those where its kernel takes another shape."""
    return [cols for cols in SIZES[kernels.split(config)[0]] if config_takes(config, cols, dtype)]


ALL = [f"{name}__{config}" for name in SIZES for config in kernels.configs(name)]
CONFIGS = [config for config in ALL if sizes(config)]
SHARING = [config for config in CONFIGS if "short" not in config]
SPREAD = [config for config in CONFIGS if "spread" in config]
# Configs differ in numbers only, so `make test` runs one of each kernel, and the one that computes
# exps again.
CHOSEN = {f"{name}__{kernels.load(name).module.DEFAULT_CONFIG}" for name in SIZES}
CHOSEN.add("frontier_rows__k8w8r")


def of(configs: list[str]):
    """One test for each of these."""
    return pytest.mark.parametrize("config", [f if f in CHOSEN else slow(f) for f in configs])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@of(ALL)
def test_rows_of_every_length(config, dtype, device):
    for cols in sizes(config, dtype):
        torch.manual_seed(cols)
        for rows in (1, 7, 300 if cols < 2**20 else 2):
            x = (torch.randn(rows, cols, device=device) * 3).to(dtype)
            before = x.clone()
            assert_right(run(config, x), x)
            assert_right(run(config, x, op="log_softmax"), x, "log_softmax")
            assert torch.equal(x, before), "the input was changed"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@of(SHARING)
def test_rows_and_their_results_may_begin_anywhere(config, dtype, device):
    cols = sizes(config, dtype)[-2:][0] + 3
    store = torch.randn(5 * (cols + 2) + 1, device=device).to(dtype)
    result = torch.full((5 * (cols + 3) + 2,), 7.0, dtype=dtype, device=device)
    x = store.as_strided((5, cols), (cols + 2, 1), 1)
    out = result.as_strided((5, cols), (cols + 3, 1), 2)
    assert_right(run(config, x, out), x)
    between = result.as_strided((4, 3), (cols + 3, 1), 2 + cols)
    assert (result[:2] == 7).all()
    assert (between == 7).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
# a kernel of the frontier each: short, packed, rows, staged, spread
@pytest.mark.parametrize(
    "cols", [64, 781, slow(1024), 8192, slow(8320), 50257, slow(131072), 2**20]
)
def test_a_row_gives_the_same_bits_in_any_batch(cols, dtype, device):
    torch.manual_seed(cols)
    x = torch.randn(max(3, 2**24 // cols), cols, device=device).to(dtype)
    together = run("frontier", x)
    for row in (0, 1, len(x) // 2, len(x) - 1):
        assert torch.equal(run("frontier", x[row : row + 1]), together[row : row + 1])
        moved = torch.zeros(cols + 1, dtype=dtype, device=device)[1:]
        moved.copy_(x[row])
        assert torch.equal(run("frontier", moved[None]), together[row : row + 1])
    for _ in range(3):
        assert torch.equal(run("frontier", x), together), "not deterministic"


@of(SPREAD)
def test_launches_at_once_do_not_share_a_workspace(config, device):
    """On two streams at once, and in a graph that is replayed on a third."""
    softmax = kernels.load(config).softmax
    x = [torch.randn(3, 2**20, device=device) for _ in range(3)]
    expected = [torch.softmax(each, -1) for each in x]
    out = [torch.empty_like(each) for each in x]
    softmax(x[0])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            softmax(x[2], out[2])
    streams = [torch.cuda.Stream(device) for _ in range(3)]
    torch.cuda.synchronize()
    for _ in range(10):
        for index, stream in enumerate(streams):
            with torch.cuda.stream(stream):
                graph.replay() if index == 2 else softmax(x[index], out[index])
    torch.cuda.synchronize()
    for y, right in zip(out, expected, strict=True):
        torch.testing.assert_close(y, right)


@of(SPREAD)
def test_a_new_workspace_waits_for_no_other_stream(config, device, monkeypatch):
    """A workspace is zero at once, even if the stream that asked first is busy."""
    from kernels.cuda import grid_workspace

    monkeypatch.setattr(grid_workspace, "_addresses", {})
    monkeypatch.setattr(grid_workspace, "_free", {})
    x = torch.randn(3, 2**20, device=device)
    expected, softmax = torch.softmax(x, -1), kernels.load(config).softmax
    busy, other = torch.cuda.Stream(device), torch.cuda.Stream(device)
    torch.cuda.synchronize()
    with torch.cuda.stream(busy):
        torch.cuda._sleep(100_000_000)
        first = softmax(x)
    with torch.cuda.stream(other):
        second = softmax(x)
    torch.cuda.synchronize()
    torch.testing.assert_close(first, expected)
    torch.testing.assert_close(second, expected)


# a kernel with a workspace, and one without
@pytest.mark.parametrize("cols", [8192, slow(50257), slow(131072), 2**20])
def test_under_a_compiler_that_records_graphs(cols, device):
    """mode="reduce-overhead" looks after all memory that is allocated while it records."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: kernels.softmax(x * 2, -1), mode="reduce-overhead")
    for _ in range(4):
        x = torch.randn(3, cols, device=device)
        torch.testing.assert_close(compiled(x), torch.softmax(x * 2, -1), rtol=1e-4, atol=1e-9)


@of(CONFIGS)
def test_in_place_and_one_row_for_all(config, device):
    for cols in sizes(config):
        x = torch.randn(5, cols, device=device)
        expected = torch.softmax(x, -1)
        run(config, x, x)
        torch.testing.assert_close(x, expected, rtol=1e-4, atol=1e-9)
        one = torch.randn(1, cols, device=device).expand(5, cols)
        torch.testing.assert_close(run(config, one), torch.softmax(one, -1), rtol=1e-4, atol=1e-9)


def test_threads_that_launch_at_once(device):
    x = torch.randn(2, 2**20, device=device)
    expected, softmax = torch.softmax(x, -1), kernels.load("frontier").softmax
    wrong = []

    def work() -> None:
        with torch.cuda.stream(torch.cuda.Stream(device)):
            for _ in range(20):
                y = softmax(x)
            torch.cuda.current_stream().synchronize()
            if not torch.allclose(y, expected, rtol=1e-4, atol=1e-9):
                wrong.append(y)

    threads = [threading.Thread(target=work) for _ in range(4)]
    torch.cuda.synchronize()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.usefixtures("large")
def test_a_matrix_beyond_two_to_the_31(device):
    """The last rows are where a 32-bit offset would wrap, in every kernel of the frontier."""
    for cols in (33, 64, 4100, 50257, 2**20):
        x = torch.zeros(2**31 // cols + 8, cols, dtype=torch.bfloat16, device=device)
        x[-8:] = torch.randn(8, cols, device=device)
        y = run("frontier", x)
        assert_right(y[-8:], x[-8:])
        assert_right(y[:8], x[:8])
        del x, y


def test_a_row_longer_than_all_shared_memory(device):
    """The row has several tiles, some of which are kept."""
    cols = 2**25 + 5
    x = torch.randn(2, cols, device=device)
    configs = [config for config in SPREAD if config_takes(config, cols, x.dtype)]
    assert configs
    for config in configs:
        torch.testing.assert_close(run(config, x), torch.softmax(x, -1), rtol=1e-4, atol=1e-12)
