"""The kernels of logits on a GPU, at sizes that the emulator does not reach."""

import pytest
import torch

from kernels.logits import functions

pytestmark = pytest.mark.gpu

SHAPES = [
    (1, 1_048_576),  # a row of all blocks
    (64, 151_936),  # rows that blocks share
    (700, 128_256),  # rows of a block beside rows that blocks share
    (1500, 50_257),
    (3001, 5003),
    (40_000, 64),  # rows of a warp
    (200, 1201),  # a compiler once stored other bits here in place of zeros
    (8, 8192),  # all of a row's segments at once
    (1000, 10_000),  # four segments at once, of five or ten
    (5000, 4096),  # a block of one warp
]


def masked_logits(rows, cols, dtype):
    """Return logits whose first ninth is -inf, and a column of the others for each row."""
    torch.manual_seed(rows)
    x = (4 * torch.randn(rows, cols, device="cuda")).to(dtype)
    x[:, : cols // 9] = -torch.inf
    return x, torch.randint(cols // 9, cols, (rows,), device="cuda")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("rows", "cols"), SHAPES)
def test_values_and_gradients(rows, cols, dtype):
    x, index = masked_logits(rows, cols, dtype)
    if rows > 1:  # a float64 reference of its tiny gradient is not exact
        x[0, index[0]] = 50.0
    log_p, entropy = functions.token_log_prob_entropy(x, index)
    sums, loss = functions.logsumexp(x), functions.cross_entropy(x, index)
    g = torch.randn(rows, device="cuda")
    maximum = x.amax(1).float()
    log_sum = torch.logsumexp((x.double() - maximum[:, None]), 1).float()
    dx = functions.token_log_prob_backward(g, x, index, maximum, log_sum)
    for some in torch.arange(rows, device="cuda").split(max(1, 2**24 // cols)):
        exact = torch.log_softmax(x[some].double(), 1)
        p = exact.exp()
        columns = exact.gather(1, index[some, None])[:, 0]
        near = {"rtol": 1e-6, "atol": 1e-6}
        torch.testing.assert_close(log_p[some].double(), columns, **near)
        torch.testing.assert_close(loss[some].double(), -columns, **near)
        torch.testing.assert_close(entropy[some].double(), torch.special.entr(p).sum(1), **near)
        right = torch.logsumexp(x[some].double(), 1)
        torch.testing.assert_close(sums[some].double(), right, **near)
        right = -g[some, None] * p
        right.scatter_add_(1, index[some, None], g[some, None].double())
        limit = {torch.float32: 2e-6}.get(dtype, torch.finfo(dtype).eps)
        assert (dx[some] - right).abs().max() <= limit * right.abs().max()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("rows", "cols"), SHAPES)
def test_loss_and_gradient_in_one_pass(rows, cols, dtype):
    x, target = masked_logits(rows, cols, dtype)
    target[::7] = -100
    loss, dx = functions.cross_entropy_and_gradient(x, target)
    assert torch.equal(loss, functions.cross_entropy(x, target))
    limit = {torch.float32: 2e-6}.get(dtype, torch.finfo(dtype).eps)
    kept = target != -100
    for some in torch.arange(rows, device="cuda").split(max(1, 2**24 // cols)):
        right = torch.softmax(x[some].double(), 1)
        right.scatter_add_(1, target[some, None].clamp(min=0), -right.new_ones(len(some), 1))
        right *= kept[some, None]
        assert (dx[some] - right).abs().max() <= limit


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_gradient_of_an_ignored_row_is_zero(dtype):
    """At every alignment of a row, and length of a tile: ptxas has stored other bits there."""
    for cols in (9, 255, 601, 1201, 1999, 2305, 4099, 9001, 20_003, 50_257):
        x = torch.full((24, cols), torch.nan, device="cuda", dtype=dtype)
        target = torch.full((24,), -100, device="cuda")
        dx = torch.full_like(x, torch.inf)
        loss, _ = functions.cross_entropy_and_gradient(x, target, (x.new_empty(24).float(), dx))
        assert (dx == 0).all(), cols
        assert (loss == 0).all(), cols


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("cols", [64, 5003, 50_257, 151_936])
def test_a_row_has_the_same_bits_in_any_batch(cols, dtype):
    x = torch.randn(2000, cols, device="cuda").to(dtype)
    index = torch.randint(cols, (2000,), device="cuda")
    many = functions.token_log_prob_entropy(x, index)
    for rows in (slice(0, 1), slice(3, 67), slice(1500, 2000)):
        shifted = torch.empty(x[rows].numel() + 1, dtype=dtype, device="cuda")[1:]
        few = functions.token_log_prob_entropy(
            shifted.view(-1, cols).copy_(x[rows]), index[rows].contiguous()
        )
        for a, b in zip(many, few, strict=True):
            assert torch.equal(a[rows], b)


def test_a_graph_may_be_replayed_beside_eager_calls():
    x = torch.randn(8, 151_936, device="cuda")
    index = torch.randint(151_936, (8,), device="cuda")
    right = functions.token_log_prob(x, index)
    graph, out = torch.cuda.CUDAGraph(), torch.empty_like(right)
    with torch.cuda.graph(graph):
        for _ in range(20):
            functions.token_log_prob(x, index, out)
    side = torch.cuda.Stream()
    for _ in range(50):
        graph.replay()
        with torch.cuda.stream(side):
            assert torch.equal(functions.token_log_prob(x, index), right)
    torch.cuda.synchronize()
    assert torch.equal(out, right)
