"""The kernels of logits by the emulator: values, gradients, special rows, and bits that stay."""

import itertools

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernels.logits import RowOptions, RowTensors, launch
from tests.kernels.helpers.logits import draw_logits
from tests.marks import slow

MAY_BE_OFF = 4e-7  # relative error of values in float32


def exact(x: torch.Tensor, index: torch.Tensor, temperature=1.0):
    """Return log-sum-exp, log-probabilities and entropy in float64, exact for a confident token."""
    scaled = x.double() / temperature
    top, where = scaled.max(1, keepdim=True)
    exps = (scaled - top).exp()
    log_sum = exps.scatter(1, where, 0.0).sum(1, keepdim=True).log1p()
    log_p = scaled - top - log_sum
    entropy = -torch.special.xlogy(log_p.exp(), log_p.exp()).sum(1)
    return (top + log_sum)[:, 0], log_p.gather(1, index), entropy


def values(x, index, op="TokenLogProbEntropy", temperature=1.0, row_mask=None, **options):
    rows, by_row = len(x), isinstance(temperature, torch.Tensor)
    first = torch.full((rows, index.shape[1]), torch.nan)
    second, sums = torch.full((rows,), torch.nan), torch.full((3, rows), torch.nan)
    tensors = RowTensors(x, None if op == "LogSumExp" else index)
    tensors = tensors._replace(temperature=temperature if by_row else None, row_mask=row_mask)
    options = RowOptions(op, 1.0 if by_row else temperature, **options)
    launch.forward(options, tensors, first, second, sums)
    return first, second, sums


FULL = 128  # Rows that fill the emulated GPU with a warp each.
# A tile of one to eight vectors a lane; several tiles of a warp; segments; more rows than blocks.
SHAPES = [
    (9, 1),
    (9, 100),
    (5, 600),
    (3, 2001),
    (3, 4000),
    slow(3, 9000),
    (20, 5000),
    slow(2, 70_001),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, slow(torch.float16)])
@pytest.mark.parametrize(("rows", "cols"), SHAPES)
def test_values_of_every_code_path(rows, cols, dtype, emulated_logits):
    x, index = draw_logits(rows, cols, dtype=dtype, count=1)
    logsumexp, log_prob, entropy = exact(x, index, 0.7)
    first, second, _ = values(x, index, temperature=0.7)
    near = {"rtol": MAY_BE_OFF, "atol": 1e-7}
    torch.testing.assert_close(first.double(), log_prob, **near)
    torch.testing.assert_close(second.double(), entropy, **near)
    first, *_ = values(x, index, "LogSumExp", temperature=torch.full((rows,), 0.7))
    torch.testing.assert_close(first[:, 0].double(), logsumexp, **near)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=st.integers(1, 9),
    cols=st.integers(1, 2600),
    beyond=st.integers(0, 9),  # elements from a row's end to the next row
    before=st.integers(0, 7),  # elements before the first row
    dtype=st.sampled_from([torch.float32, torch.bfloat16]),
)
def test_rows_of_any_shape_and_stride(rows, cols, beyond, before, dtype, emulated_logits):
    """Values of rows anywhere in memory, and loss and gradient with the same bits."""
    touching_x, index = draw_logits(rows, cols, dtype=dtype, count=1)
    wide = torch.full((before + rows * (cols + beyond) + 8,), torch.nan, dtype=dtype)
    x = wide.as_strided((rows, cols), (cols + beyond, 1), before)
    x.copy_(touching_x)
    _, log_prob, entropy = exact(x, index)
    near = {"rtol": MAY_BE_OFF, "atol": 1e-6}
    first, second, _ = values(x, index)
    torch.testing.assert_close(first.double(), log_prob, **near)
    torch.testing.assert_close(second.double(), entropy, **near)
    loss, *_ = values(x, index, "CrossEntropy")
    assert torch.equal(loss, values(touching_x, index, "CrossEntropy")[0])
    if launch.fits_in_registers("CrossEntropy", dtype, cols, -1):
        once, dx = torch.full((rows,), torch.nan), torch.full_like(touching_x, torch.nan)
        tensors = RowTensors(x, index)
        launch.forward_and_backward(RowOptions("CrossEntropy"), tensors, once, dx)
        assert torch.equal(once, loss[:, 0])
        right = torch.softmax(x.double(), 1)
        right.scatter_add_(1, index, -torch.ones_like(log_prob))
        # p |log p| is at most 0.37, so the rounding of log p adds less than that of p
        assert (dx - right).abs().max() <= 2 * torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("cols", [100, 2001, 5000])
def test_a_confident_token_keeps_its_digits(cols, dtype, emulated_logits):
    """All that is left is exps of about -60, whose arguments are rounded."""
    x, index = draw_logits(3, cols, dtype=dtype, count=1)
    x.scatter_(1, index, 60.0)
    _logsumexp, log_prob, _ = exact(x, index)
    torch.testing.assert_close(values(x, index)[0].double(), log_prob, rtol=4e-6, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_masks_of_the_least_finite_number(dtype, emulated_logits):
    """Where it masks some logits, and a whole row, beside -inf of a padded vocabulary."""
    lowest = torch.finfo(dtype).min
    x, index = draw_logits(3, 2001, dtype=dtype, count=1)
    x[0, :1000], x[1], x[2] = lowest, lowest, lowest
    x[:, 1500:] = -torch.inf
    index[:] = 1200
    logsumexp, log_prob, entropy = exact(x, index)
    first, second, _ = values(x, index)
    torch.testing.assert_close(first.double(), log_prob, rtol=MAY_BE_OFF, atol=0)
    torch.testing.assert_close(second.double(), entropy, rtol=MAY_BE_OFF, atol=0)
    sums, *_ = values(x, index, "LogSumExp")
    torch.testing.assert_close(sums[:, 0].double(), logsumexp, rtol=MAY_BE_OFF, atol=0)


# Beyond 2**26 / log2(e), the maximum is subtracted before the scale is applied.
@pytest.mark.parametrize(
    ("offset", "spread"), [(1e3, 1), (1e5, 1), (-3e6, 1), (2e8, 20), (-2e8, 20)]
)
def test_rows_far_from_zero(offset, spread, emulated_logits):
    x, index = draw_logits(3, 2001, dtype=torch.float32, count=1)
    x = x * spread + offset
    _, log_prob, entropy = exact(x, index)
    first, second, _ = values(x, index)
    torch.testing.assert_close(first.double(), log_prob, rtol=2e-6, atol=0)
    torch.testing.assert_close(second.double(), entropy, rtol=2e-6, atol=0)
    right = 0.9 * -log_prob[:, 0] - 0.1 * torch.log_softmax(x.double(), 1).mean(1)
    loss, *_ = values(x, index, "SmoothedCrossEntropy", label_smoothing=0.1)
    torch.testing.assert_close(loss[:, 0].double(), right, rtol=2e-6, atol=0)


def test_a_smoothed_loss_of_a_masked_target_is_infinite(emulated_logits):
    x, index = draw_logits(3, 600, dtype=torch.float32, count=1)
    x.scatter_(1, index, -torch.inf)
    loss, *_ = values(x, index, "SmoothedCrossEntropy", label_smoothing=0.1)
    assert (loss == torch.inf).all()


def test_an_index_outside_the_row_gives_nan(emulated_logits):
    x, _ = draw_logits(3, 100, dtype=torch.float32, count=1)
    first, entropy, _ = values(x, torch.tensor([[-1, 5], [100, 5], [3, 2**40]]))
    assert first.isnan().tolist() == [[True, False], [True, False], [False, True]]
    assert entropy.isfinite().all()


@pytest.mark.parametrize("cols", [600, 5000])
def test_a_row_that_is_not_kept_is_zero_and_not_used(cols, emulated_logits):
    x, index = draw_logits(3, cols, dtype=torch.float32, count=1)
    x[1], index[1] = torch.nan, 2**50
    kept = torch.tensor([True, False, True])
    first, entropy, sums = values(x, index, row_mask=kept)
    assert first[1] == entropy[1] == 0
    assert (first[[0, 2]] < 0).all()
    g, dx = torch.ones(3, 1), torch.full_like(x, torch.nan)
    launch.backward(RowOptions("TokenLogProb"), RowTensors(x, index, row_mask=kept), dx, g, sums)
    assert (dx[1] == 0).all()
    assert dx[[0, 2]].isfinite().all()


@pytest.mark.parametrize(
    ("cols", "dtype"),
    [
        *itertools.product([100, 2001], [torch.float32, torch.bfloat16]),
        *[(9000, torch.float32), (9003, torch.float32), (17_003, torch.bfloat16)],
    ],
)
def test_a_row_has_the_same_bits_in_any_batch_and_at_any_address(cols, dtype, emulated_logits):
    many = FULL // 4
    x, index = draw_logits(many, cols, dtype=dtype, count=1)
    pair = values(x, index)[:2]
    for row in (0, many - 1):
        unaligned = torch.empty(cols + 1, dtype=dtype)[1:].view(1, cols).copy_(x[row])
        for all_rows, one in zip(pair, values(unaligned, index[row : row + 1]), strict=False):
            assert torch.equal(all_rows[row], one[0])
    assert len({plan.blocks for plan in emulated_logits}) > 1
    if cols >= 9000:  # a block of few rows works on more segments at once
        assert len({plan.threads for plan in emulated_logits}) == 2


@pytest.mark.parametrize(("dtype", "may_be_off"), [(torch.float32, 3e-6), (torch.bfloat16, 2**-8)])
@pytest.mark.parametrize("cols", [100, 2001, 9000])
def test_gradients(cols, dtype, may_be_off, emulated_logits):
    x, index = draw_logits(4, cols, dtype=dtype, count=3)
    x[0, :50] = -torch.inf
    index[0, 0], index[1, 1] = 60, index[1, 0]  # an index that is twice there
    log_p = torch.log_softmax(x.double() / 0.7, 1)
    p = log_p.exp()
    entropy = -torch.special.xlogy(p, p).sum(1, keepdim=True)
    from_mean = torch.where(p > 0, log_p + entropy, 0.0)
    generator = torch.Generator().manual_seed(1)
    g, h = torch.randn(4, 3, generator=generator), torch.randn(4, generator=generator)
    of_index = torch.zeros_like(p).scatter_add(1, index, g.double())
    for entropy_too in (False, True):
        expected = of_index - p * g.double().sum(1, keepdim=True)
        expected = (expected - entropy_too * h[:, None] * p * from_mean) / 0.7
        settings = {"temperature": 0.7}
        _, entropies, sums = values(x, index, **settings)
        dx = torch.full_like(x, torch.nan)
        of_entropy = (h, entropies) if entropy_too else None
        options = RowOptions("TokenLogProb", 0.7)
        launch.backward(options, RowTensors(x, index), dx, g, sums, of_entropy=of_entropy)
        scale = expected.abs().amax(1, keepdim=True)
        assert ((dx - expected).abs() / scale).max() < may_be_off


@pytest.mark.parametrize("in_place", [False, True])
def test_loss_and_its_gradient(in_place, emulated_logits):
    x, target = draw_logits(5, 2001, dtype=torch.float32, count=1)
    target[2] = -100
    settings = {"label_smoothing": 0.1, "z_loss": 0.01, "ignore_index": -100}
    wide = x.double().requires_grad_()
    plain = torch.nn.functional.cross_entropy(
        wide, target[:, 0], reduction="none", label_smoothing=0.1
    )
    kept = target[:, 0] != -100
    expected = plain + 0.01 * torch.logsumexp(wide, 1) ** 2 * kept
    g = torch.linspace(-1, 2, 5)
    (gradient,) = torch.autograd.grad((expected * g).sum(), wide)
    loss, _, sums = values(x, target, "SmoothedCrossEntropy", **settings)
    torch.testing.assert_close(loss[:, 0].double(), expected.detach(), rtol=1e-6, atol=1e-6)
    dx = x if in_place else torch.full_like(x, torch.nan)
    launch.backward(RowOptions("CrossEntropy", **settings), RowTensors(x, target), dx, g, sums)
    torch.testing.assert_close(dx.double(), gradient, rtol=1e-5, atol=1e-7)


# A warp's row; a block's; a cluster's of 2 and more, with one tile of a warp and with two; rows of
# whole vectors, and others.
@pytest.mark.parametrize(
    ("cols", "dtype"),
    [
        (100, torch.float32),
        (2001, torch.bfloat16),
        (4000, torch.float32),
        (9000, torch.bfloat16),
        slow(16_384, torch.float32),
        slow(9001, torch.float32),
        slow(70_001, torch.bfloat16),
        slow(40_000, torch.float16),
    ],
)
@pytest.mark.parametrize("in_place", [False, True])
def test_loss_and_gradient_in_one_pass_are_those_of_two(cols, dtype, in_place, emulated_logits):
    x, target = draw_logits(5, cols, dtype=dtype, count=1)
    target[2], x[3, target[3]], x[4, 7 : cols // 2] = -100, 50.0, -torch.inf
    for operation, smoothing in (("CrossEntropy", 0.0), ("SmoothedCrossEntropy", 0.1)):
        settings = {"ignore_index": -100, "label_smoothing": smoothing, "z_loss": 0.01}
        options = RowOptions(operation, **settings)
        loss, _, sums = values(x, target, operation, **settings)
        tensors, scale = RowTensors(x, target), torch.tensor(0.25)
        dx = torch.full_like(x, torch.nan)
        launch.backward(options, tensors, dx, scale, sums)
        once = x.clone() if in_place else torch.full_like(x, torch.nan)
        fused = torch.full((5,), torch.nan)
        tensors = tensors._replace(x=once if in_place else x)
        launch.forward_and_backward(options, tensors, fused, once, scale)
        assert emulated_logits[-1].kernel.startswith("loss_and_gradient")
        assert torch.equal(fused, loss[:, 0])
        near = torch.finfo(dtype).eps
        torch.testing.assert_close(once.float(), dx.float(), rtol=near, atol=1e-9)


def test_the_gradient_of_a_sure_token_keeps_its_digits(emulated_logits):
    x, index = draw_logits(1, 600, dtype=torch.float32, count=1)
    x[0, index[0]] = 60.0
    _, log_prob, _ = exact(x, index)
    _, _, sums = values(x, index)
    dx = torch.empty_like(x)
    launch.backward(RowOptions("TokenLogProb"), RowTensors(x, index), dx, torch.ones(1, 1), sums)
    expected = -torch.expm1(log_prob)[0, 0]
    torch.testing.assert_close(dx[0, index[0, 0]].double(), expected, rtol=1e-6, atol=0)


@pytest.mark.parametrize("is_sum", [False, True])
def test_the_mean_of_losses_leaves_ignored_targets_out(is_sum, emulated_logits):
    losses, targets = torch.randn(3000).abs(), torch.arange(3000)
    result, scale = torch.empty(2).unbind()
    targets[::3] = -100
    losses[::3] = 0
    launch.loss_mean(losses, targets, result, scale, -100, is_sum)
    assert [result.item(), scale.item()] == pytest.approx(
        [losses.sum().item(), 1.0] if is_sum else [losses.sum().item() / 2000, 1 / 2000], rel=1e-6
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "g", [torch.tensor(0.3), torch.tensor([1.0, 2.0, 0.0])], ids=["one", "rows"]
)
def test_rows_are_multiplied(g, dtype, emulated_logits):
    dx, _ = draw_logits(3, 2001, dtype=dtype, count=1)
    right = (dx.float() * g.view(-1, 1)).to(dtype)
    launch.multiply_rows(dx, g)
    assert torch.equal(dx, right)
