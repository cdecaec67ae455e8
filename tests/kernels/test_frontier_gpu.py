"""The frontier's kernels on a GPU, in every config: right, at any place, and in any batch."""

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
SHARING = [config for config in ALL if sizes(config) and "short" not in config]
SPREAD = [config for config in ALL if "spread" in config]
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
    """Also in place, as rows that the drop-in has widened are, if a block reads them once."""
    for cols in sizes(config, dtype):
        torch.manual_seed(cols)
        for rows in (1, 7, 300 if cols < 2**20 else 2):
            x = (torch.randn(rows, cols, device=device) * 3).to(dtype)
            before = x.clone()
            y = run(config, x)
            assert_right(y, x)
            assert_right(run(config, x, op="log_softmax"), x, "log_softmax")
            assert torch.equal(x, before), "the input was changed"
            if cols <= 2**18:
                assert torch.equal(run(config, x, x), y)
        one = torch.randn(1, cols, device=device).to(dtype).expand(5, cols)
        assert_right(run(config, one), one)


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
