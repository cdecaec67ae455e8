"""Arguments of the library's functions of logits: what torch accepts, and what is refused."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from kernels.dropin.logits.api import cross_entropy, logsumexp, token_log_probs
from tests.kernels.helpers.logits import draw_logits

X, INDEX, NEEDS_GRADIENT = torch.zeros(3, 5), torch.zeros(3).long(), torch.ones(3).requires_grad_()
REFUSED = [  # arguments after the logits, error, its words
    ((INDEX[:2],), {}, ValueError, r"index has shape \(2,\).*need \(3,\)"),
    ((X[:, 0],), {}, TypeError, "index is torch.float32; an integer tensor"),
    (([0, 1, 2],), {}, TypeError, "index is a list; an integer tensor"),
    ((INDEX,), {"row_mask": torch.ones(2)}, ValueError, r"row_mask has .*\(2,\); allowed: \(3,\)"),
    ((INDEX,), {"temperature": 0}, ValueError, "temperature = 0; a number of at least 1e-38"),
    ((INDEX,), {"temperature": NEEDS_GRADIENT}, ValueError, "temperature requires a gradient"),
    ((INDEX,), {"temperature": torch.tensor(1j)}, TypeError, "temperature is torch.complex64"),
    ((INDEX,), {"temperature": "0.5"}, TypeError, "temperature is a str; a number is needed"),
    ((INDEX,), {"row_mask": [1, 0, 1]}, TypeError, "row_mask is a list; a tensor is needed"),
    ((INDEX,), {"row_mask": True}, TypeError, "row_mask is a bool; a tensor is needed"),
    ((INDEX,), {"vocab_start": 5}, ValueError, "vocab_start = 5 has no effect without group"),
]
HALVES = np.float32(0.5), np.array(0.5), torch.tensor(0.5), torch.tensor(0.5).double()


@pytest.mark.parametrize(("arguments", "options", "error", "words"), REFUSED)
def test_wrong_arguments_are_refused(arguments, options, error, words):
    with pytest.raises(error, match=words):
        token_log_probs(X, *arguments, **options)


@pytest.mark.parametrize("logits", [X.long(), X > 0, X + 1j, [[1.0, 2.0]]])
def test_logits_that_are_no_floating_point_numbers_are_refused(logits):
    with pytest.raises(TypeError, match=r"logits are .*; a tensor of floating-point numbers"):
        token_log_probs(logits, INDEX)
    if isinstance(logits, torch.Tensor):
        with pytest.raises(ValueError, match="z_loss needs floating-point input"):
            cross_entropy(logits, INDEX, z_loss=0.1)


@pytest.mark.usefixtures("operators")
@pytest.mark.parametrize("half", HALVES)
def test_a_number_may_have_any_type(half):
    """Where kernels launch, too; and a tensor's value is read at each call."""
    x, index = draw_logits(3, 20)
    for function, name in (
        (token_log_probs, "temperature"),
        (cross_entropy, "z_loss"),
        (cross_entropy, "label_smoothing"),
    ):
        expected = function(x, index, **{name: 0.5})
        torch.testing.assert_close(function(x, index, **{name: half}), expected)
    with pytest.raises(ValueError, match="z_loss requires a gradient"):
        cross_entropy(x, index, z_loss=torch.tensor(0.5, requires_grad=True))
    with pytest.raises(TypeError):
        cross_entropy(x, index, z_loss="0.5")
    changing = torch.tensor(0.5)
    losses = [cross_entropy(x, index, z_loss=changing.mul_(2)) for _ in range(2)]
    assert losses[0] != losses[1]


def answer(function, *arguments, **options):
    """Return a call's result, or the type and the words of its error."""
    try:
        return function(*arguments, **options)
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        return type(error), str(error)


@pytest.mark.usefixtures("operators")
@pytest.mark.parametrize(
    "value", [2, np.int64(2), torch.tensor(2), 2.0, True, np.True_, "2", None, 2**63], ids=repr
)
def test_an_ignored_index_is_what_torch_accepts(value):
    x, index = draw_logits(3, 20)
    index[1] = 2
    ours, torchs = (
        answer(f, x, index, ignore_index=value) for f in (cross_entropy, F.cross_entropy)
    )
    if torch.is_tensor(torchs):
        torch.testing.assert_close(ours, torchs)
        right = cross_entropy(x, index, ignore_index=2, z_loss=0.1)
        assert cross_entropy(x, index, ignore_index=value, z_loss=0.1) == right
    else:
        assert ours == torchs
        with pytest.raises(ValueError, match="z_loss needs"):
            cross_entropy(x, index, ignore_index=value, z_loss=0.1)


@pytest.mark.usefixtures("operators")
@pytest.mark.parametrize(
    ("dim", "keepdim"),
    [
        *((dim, False) for dim in (np.int64(1), torch.tensor(1), (np.int64(1),), [1], -3, True)),
        *((dim, False) for dim in ((True,), 1.0, "1", None)),
        *((1, keepdim) for keepdim in (1, 2, "a", None, np.True_)),
    ],
    ids=str,
)
def test_logsumexp_accepts_what_torch_accepts(dim, keepdim):
    x, _ = draw_logits(4, 9)
    ours, torchs = (answer(f, x, dim, keepdim) for f in (logsumexp, torch.logsumexp))
    if torch.is_tensor(torchs):
        torch.testing.assert_close(ours, torchs)
    else:
        assert ours == torchs


def test_an_input_that_is_no_tensor_gets_torchs_error():
    assert answer(logsumexp, [1.0], 0) == answer(torch.logsumexp, [1.0], 0)
    assert answer(cross_entropy, [1.0], INDEX) == answer(F.cross_entropy, [1.0], INDEX)


def test_arguments_that_are_not_known_here_get_torch_s_answer():
    x, target = draw_logits(4, 9)
    with pytest.raises(ValueError, match="max is not a valid value for reduction"):
        cross_entropy(x, target, reduction="max")
    with pytest.raises(TypeError):
        cross_entropy(x, target.tolist())
    with pytest.raises(ValueError, match="index has shape"):
        token_log_probs(torch.tensor(1.0), torch.tensor(0))
    for old in ({"reduce": 0}, {"size_average": 0}, {"size_average": True}):
        torch.testing.assert_close(
            cross_entropy(x, target, **old), F.cross_entropy(x, target, **old)
        )


def test_a_row_without_columns_has_no_tokens():
    assert token_log_probs(torch.empty(2, 0), torch.zeros(2).long()).isnan().all()


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["index", "row_mask"])
def test_tensors_of_another_device_are_refused(name):
    x, index = draw_logits(3, 50, device="cuda")
    tensors = {"index": index, "row_mask": index} | {name: index.cpu()}
    with pytest.raises(ValueError, match=f"{name} is on cpu, and the logits on cuda:0"):
        token_log_probs(x, **tensors)
    temperature = torch.tensor(0.7)  # one number on a CPU
    torch.testing.assert_close(
        token_log_probs(x, index, temperature=temperature),
        token_log_probs(x, index, temperature=0.7),
    )
