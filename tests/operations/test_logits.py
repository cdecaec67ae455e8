"""Operations on logits: torch is right on every special row, and kernels that are not are told."""

import pytest
import torch

import kernels
import operations
from measure.check import correctness, edge_cases
from measure.device.opened import open_device
from measure.inputs import draw_at, draw_operand
from tests.bench import point

OPERATIONS = sorted(kernels.ops("torch_logits"))
GENERAL = ["large values", "rows with -inf", "rows without a result"]
MASKS = ["some -inf", "first 1 -inf", "first 32 -inf", "first 1024 -inf"]
FINITE = [*MASKS, "one finite"]
OWN = [*FINITE, "target -inf", "all -inf", "+inf", "NaN"]
CPU = torch.device("cpu")


def checked(op: str, change=lambda call: call, dtype: str = "float32", N: int = 2000):
    """Return what is wrong on ordinary values, and the names of the special rows."""
    measured, cpu = point(op=op, variant="torch_logits", M=5, N=N, dtype=dtype), open_device("cpu")
    inputs = draw_at(measured, CPU, 0)
    call = change(kernels.load("torch_logits").function(op))
    accuracy = correctness.check_call(call, inputs, torch.arange(5), op)
    ordinary, special = edge_cases.check(measured, cpu, call, inputs)
    columns = edge_cases.columns(special)
    right, wrong = (list(filter(None, names.split("; "))) for names in columns.values())
    return accuracy.problem or ordinary, right, wrong


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("op", OPERATIONS)
def test_torch_is_right_on_every_special_row(op, dtype):
    names = [name for name in OWN if op != "logsumexp" or name != "target -inf"]
    names += ["ignored target"] * op.startswith("cross_entropy")
    assert checked(op, dtype=dtype) == (None, [*GENERAL, *names], [])


@pytest.mark.parametrize("op", OPERATIONS)
def test_special_rows_are_what_their_names_say(op):
    operation, cols = operations.load(op), 20_000
    x = torch.randn(4, cols)
    cases = operation.special_rows(x, lambda o: draw_operand(o, x.dtype, 4, cols, 5, CPU))
    assert {"first 2048 -inf", "first 16384 -inf"} < set(cases)
    for name, inputs in cases.items():
        (changed,) = operation.matrices(inputs)
        assert torch.equal(changed[1::2], x[1::2])
        indices = [t for t in inputs if t.dtype == torch.int64]
        if indices and name.startswith(("some", "first", "one")):
            assert changed.gather(1, indices[0][:, None]).isfinite().all()
        if name.startswith("first"):
            assert changed[::2, : int(name.split()[1])].isneginf().all()
        if name == "one finite":
            assert (changed[::2].isfinite().sum(1) == 1).all()
        assert (name == "ignored target") == torch.equal(changed, x)


COARSE = {
    "a thousandth more": lambda y: y * 1.001,
    "8 bits": lambda y: y.bfloat16().float(),
    "zeros": torch.zeros_like,
}


@pytest.mark.parametrize("coarse", COARSE)
@pytest.mark.parametrize("op", OPERATIONS)
def test_a_result_that_is_off_by_a_thousandth_fails(op, coarse):
    """Or one of two results."""
    inputs = draw_at(point(op=op, variant="torch_logits", M=5, N=2000, dtype="float32"), CPU, 0)
    results = kernels.load("torch_logits").function(op)(*inputs)
    assert correctness.check_rows(results, inputs, op).problem is None
    is_pair = isinstance(results, tuple)
    for place in range(2 if is_pair else 1):
        changed = list(results) if is_pair else [results]
        changed[place] = COARSE[coarse](changed[place])
        wrong = tuple(changed) if is_pair else changed[0]
        assert correctness.check_rows(wrong, inputs, op).problem is not None, place


def without_tail(call):
    """Drop the last 32 logits of each row."""
    return lambda x, *further: call(
        x.clone().index_fill_(1, torch.arange(1968, 2000), -1e30), *further
    )


def over_rows(compute):
    """Compute the values by another function of x and the index; write them to ``out``."""

    def run(x, *index_and_out):
        *index, out = index_and_out
        values = compute(x.double(), *index)
        if isinstance(values, tuple):
            out = out or tuple(torch.empty(len(x)) for _ in values)
            return tuple(y.copy_(value) for y, value in zip(out, values, strict=True))
        return (torch.empty(len(x)) if out is None else out).copy_(values)

    return lambda call: run


def from_two_large_numbers(x, index):
    """Return the logit less the log-sum-exp, both rounded to float32."""
    return x.gather(1, index[:, None])[:, 0].float() - torch.logsumexp(x, 1).float()


def online(x, index):
    """Rescale a sum by each new maximum of a block, as published kernels do."""
    maximum, total = torch.full((len(x),), -torch.inf, dtype=x.dtype), 0.0
    for block in x.split(1024, dim=1):
        new = torch.maximum(maximum, block.amax(1))
        total = total * (maximum - new).exp() + (block - new[:, None]).exp().sum(1)
        maximum = new
    return x.gather(1, index[:, None])[:, 0] - maximum - total.log()


def entropy_from_products(x, index):
    """Multiply p = 0 by log p = -inf."""
    log_p = torch.log_softmax(x, 1)
    return log_p.gather(1, index[:, None])[:, 0], -(log_p.exp() * log_p).sum(1)


def with_index(change):
    """Change the index before the call."""

    def run(call):
        def changed(*tensors):
            return call(*(change(t) if is_index(t) else t for t in tensors))

        return changed

    return run


def is_index(tensor) -> bool:
    return isinstance(tensor, torch.Tensor) and tensor.dtype == torch.int64


never_ignored = with_index(lambda index: index.clamp(min=0))
next_column = with_index(lambda index: (index + 1) % 2000)
WRONG = [  # operation, change, whether ordinary values tell, special rows among those that do
    ("logsumexp", without_tail, True, []),
    ("token_log_prob_entropy", without_tail, True, []),
    ("cross_entropy", without_tail, True, []),
    ("token_log_prob", over_rows(from_two_large_numbers), False, ["large values"]),
    ("token_log_prob", over_rows(online), False, ["first 1024 -inf"]),
    ("token_log_prob_entropy", over_rows(entropy_from_products), False, FINITE),
    ("cross_entropy", never_ignored, False, ["ignored target"]),
    ("cross_entropy_backward", never_ignored, False, ["ignored target"]),
    ("token_log_prob_backward", next_column, True, []),
    ("cross_entropy_and_gradient", next_column, True, []),
]


@pytest.mark.parametrize(("op", "change", "ordinary", "special"), WRONG)
def test_a_wrong_kernel_is_told(op, change, ordinary, special):
    problem, _, wrong = checked(op, change)
    assert bool(problem) == ordinary, problem
    assert set(special) <= set(wrong)
