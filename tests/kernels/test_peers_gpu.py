"""Other projects' kernels on a GPU: right, in one kernel, and where they end."""

import pytest
import torch

import kernels
from tests.kernels.helpers import launches
from tests.kernels.helpers.variants import PEERS, assert_rows_right, loaded
from tests.kernels.test_peers import CONFIGS
from tests.marks import slow

pytestmark = pytest.mark.gpu
H200_SHARED = 232_448  # bytes that a block may have

# a block of each peer; `make test-all` adds a warp's row, a cluster's or one that is split
CASES = [(name, 4096) for name in PEERS]
CASES += [slow(name, 4096) for name in CONFIGS]
CASES += [slow(name, cols) for name in PEERS for cols in (256, 40_960)]
CASES += [slow("peer_tileops", cols) for cols in (600, 300_001, 2**20)]  # padded; split


@pytest.mark.parametrize(("name", "cols"), CASES)
def test_a_peer_is_right(name, cols, device, reset_dynamo):
    """In contiguous and in non-contiguous rows; in unaligned ones if TileOPs must copy them."""
    layouts = [((0, 0), (16, 0)), ((16, 64), (32, 64))]
    if name == "peer_tileops":
        layouts += [((1, 0), (16, 0)), ((16, 0), (1, 0))]
    dtype = torch.float32 if name == "peer_flashinfer" else torch.bfloat16
    for op in ("softmax", "log_softmax") if loaded(name).log_softmax else ("softmax",):
        for layout in layouts:
            launch = launches.Launch(name, op, dtype, 5, cols, layout)
            assert launches.problem_of(launch, device) is None, launch


@pytest.mark.parametrize("cols", [slow(1024), 8192])
@pytest.mark.parametrize("name", ["peer_compile", slow(CONFIGS[0])])
def test_one_compiled_kernel_writes_straight_into_out(name, cols, device, reset_dynamo):
    from torch._inductor.utils import run_and_get_code

    softmax = kernels.load(name).softmax
    x, out = torch.randn(1024, cols, device=device), torch.empty(1024, cols + 64, device=device)
    with torch._inductor.config.patch(force_disable_caches=True):  # or no code would be written
        _, (code,) = run_and_get_code(softmax, x, out[:, :cols])
    assert code.count("@triton.jit") == code.count(".run(") == 1
    assert "empty_strided_cuda(" not in code  # no temporary memory
    assert f"+ {cols + 64}*x0" in code  # the store walks by the stride of out


def test_more_layouts_than_torch_compiles_are_an_error(device, reset_dynamo):
    softmax = kernels.load("peer_compile").softmax
    limit = torch._dynamo.config.recompile_limit
    for cols in range(8, 8 + limit):
        softmax(torch.randn(4, cols, device=device))
    with pytest.raises(torch._dynamo.exc.FailOnRecompileLimitHit):
        softmax(torch.randn(4, 8 + limit, device=device))


def test_a_row_as_long_as_quack_can_take(device):
    variant = loaded("peer_quack")
    shared = torch.cuda.get_device_properties(device).shared_memory_per_block_optin
    if shared != H200_SHARED:
        pytest.skip(f"the number is for blocks with {H200_SHARED} bytes; these have {shared}")
    x = torch.randn(2, 917_504, device=device)
    assert_rows_right(variant.softmax(x), x)
    assert "shared memory" in variant.unsupported(torch.empty(1, 917_508, device=device))
