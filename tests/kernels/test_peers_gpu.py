"""Other projects' kernels on a GPU: right, captured, on the caller's stream, and where they end."""

import pytest
import torch

import kernels
from measure.check import correctness
from tests.kernels.test_peers import H200_SHARED, compiled
from tests.kernels.variants import PEERS, loaded
from tests.marks import slow

pytestmark = pytest.mark.gpu

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
# a block of each peer; `make test-all` adds a warp's row, a cluster's, and other types
CASE = torch.bfloat16, 4096
OTHERS = [
    (dtype, cols) for dtype in DTYPES for cols in (256, 4096, 40_960) if (dtype, cols) != CASE
]
# one case each, left to `make test-all`: a search takes seconds, Helion's a minute
SEARCHED = ["peer_compile__max", "peer_helion__max"]
ONCE = [name for name in PEERS if name not in SEARCHED]
CASES = [(name, *CASE) for name in ONCE] + [slow(name, *CASE) for name in SEARCHED]
CASES += [slow(name, *other) for name in ONCE for other in OTHERS]
# peer_helion__max runs the same lines as peer_helion; the one case above must do
PROMPT = [*ONCE, slow("peer_compile__max")]


@pytest.fixture
def fresh():
    """torch.compile takes a few layouts for each function; every test has all of them."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def layouts(cols: int, dtype: torch.dtype, device) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """(x, out) of 5 rows: with rows that touch, and with rows apart.

    All begin at multiples of 16 bytes; ``out`` lies within memory that holds 9.
    """
    wide = (torch.randn(5, cols + 64, device=device) * 3).to(dtype)
    long = torch.full((7, cols), 9, dtype=dtype, device=device)
    held = torch.full_like(wide, 9)
    return [
        (wide[:, :cols].contiguous(), long[1:6]),
        (wide[:, 16 : cols + 16], held[:, 32 : cols + 32]),
    ]


@pytest.mark.parametrize(("name", "dtype", "cols"), CASES, ids=str)
def test_a_peer_is_right(name, dtype, cols, device, fresh):
    variant = loaded(name)
    torch.manual_seed(cols)
    for op in ("softmax", "log_softmax") if variant.log_softmax else ("softmax",):
        for x, out in layouts(cols, dtype, device):
            assert variant.unsupported(x) is None
            before = x.clone()
            y = variant.function(op)(x, out)
            problem = (
                correctness.check_result(y, x, out) or correctness.check_values(y, x, op).problem
            )
            assert problem is None
            assert torch.equal(x, before)
            out.fill_(9)
            assert (out._base == 9).all()  # nothing else was written


def untamed(cols: int, device) -> torch.Tensor:
    """Rows of shape (5, cols): two without a softmax, three with -inf."""
    inf, nan = float("inf"), float("nan")
    x = torch.randn(5, cols, device=device)
    x[0] = -inf
    x[1, cols // 2], x[1, -1] = inf, nan
    x[2, :-1] = -inf  # one finite value
    x[3, ::2] = -inf
    x[4, cols // 2 :] = -inf
    return x


@pytest.mark.parametrize("cols", [slow(1024), 4096])
@pytest.mark.parametrize("name", ["peer_compile", "peer_flaggems", "peer_helion", "peer_liger"])
def test_infinities_and_nan_as_torch_has_them(name, cols, device, fresh):
    x = untamed(cols, device)
    assert correctness.check_values(loaded(name).softmax(x), x).problem is None


@pytest.mark.parametrize(("cols", "lost"), [(3072, []), (4096, [2])])
def test_quack_loses_rows_of_which_a_warp_sees_only_minus_infinity(cols, lost, device):
    """Beyond N = 3072, where its rows are `incorrect`; when this fails, QuACK has become better."""
    x = untamed(cols, device)
    y = loaded("peer_quack").softmax(x)
    without = torch.softmax(x, dim=-1).isnan().any(1)
    assert without.tolist() == [True, True, False, False, False]
    assert (y.isnan().any(1) & ~without).nonzero().flatten().tolist() == lost


@pytest.mark.parametrize("name", PROMPT)
def test_a_peers_calls_are_captured_on_buffers_in_turn(name, device, fresh):
    """Compiled once, by the first call, whatever the buffer; then nothing but the recording."""
    softmax = loaded(name).softmax
    drawn = [torch.randn(64, 512, device=device) for _ in range(4)]
    pairs = [(x, torch.empty_like(x)) for x in drawn]
    softmax(*pairs[0])
    compiled = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for pair in pairs:
            softmax(*pair)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == compiled
    for x, out in pairs:
        x.normal_()
        out.fill_(float("nan"))
    graph.replay()
    for x, out in pairs:
        torch.testing.assert_close(out, torch.softmax(x, dim=-1))


@pytest.mark.parametrize("name", PROMPT)
def test_a_peer_runs_on_the_callers_stream(name, device, fresh):
    softmax = loaded(name).softmax
    x, ready = torch.zeros(4096, 512, device=device), torch.randn(4096, 512, device=device)
    out = torch.empty_like(x)
    softmax(x, out)  # compiled by now
    stream = torch.cuda.Stream(device)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.copy_(ready)
        softmax(x, out)
    stream.synchronize()
    torch.testing.assert_close(out, torch.softmax(ready, dim=-1))


@pytest.mark.parametrize("cols", [slow(1024), 8192])
@compiled
def test_one_compiled_kernel_writes_straight_into_out(name, cols, device, fresh):
    from torch._inductor.utils import run_and_get_code

    softmax = kernels.load(name).softmax
    x, out = torch.randn(1024, cols, device=device), torch.empty(1024, cols + 64, device=device)
    with torch._inductor.config.patch(force_disable_caches=True):  # or no code would be written
        _, (code,) = run_and_get_code(softmax, x, out[:, :cols])
    assert code.count("@triton.jit") == code.count(".run(") == 1
    assert "empty_strided_cuda(" not in code  # no temporary memory
    assert f"+ {cols + 64}*x0" in code  # the store walks by the stride of out


def test_more_layouts_than_torch_compiles_are_an_error(device, fresh):
    softmax = kernels.load("peer_compile").softmax
    most = torch._dynamo.config.recompile_limit
    for cols in range(8, 8 + most):
        softmax(torch.randn(4, cols, device=device))
    with pytest.raises(torch._dynamo.exc.FailOnRecompileLimitHit):
        softmax(torch.randn(4, 8 + most, device=device))


def test_a_row_as_long_as_quack_can_take(device):
    variant = loaded("peer_quack")
    _, shared = variant.module._capability(device)
    if shared != H200_SHARED:
        pytest.skip(f"the number is for blocks with {H200_SHARED} bytes; these have {shared}")
    x = torch.randn(2, 917_504, device=device)
    y = variant.softmax(x)
    assert correctness.check_values(y, x).problem is None
    assert "shared memory" in variant.unsupported(torch.empty(1, 917_508, device=device))
