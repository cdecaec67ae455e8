"""An operation is one file, which says everything that measuring needs."""

import pytest
import torch

import operations
from measure.errors import PointError
from measure.inputs import draw_operand
from measure.point import Point
from tests.processes import run_code

CPU = torch.device("cpu")
# Sums of rows with a weight for each column: an operand that is no matrix, and one value per row.
WEIGHTED_SUM = """
import torch
from operations import Exact, Operand, Operation, Output
from beside import describe

def exact(x, weight, dtype):
    y = x @ weight
    return Exact(y, 1e-6 * (x.abs() @ weight.abs()), y.abs())

OPERATION = Operation(
    inputs=(Operand("x"), Operand("weight", ("N",), "float32")),
    outputs=(Output("y", ("M",), "float32"),),
    roofline="read",
    meeting_roofline="read_meet",
    inputs_of=lambda x, draw: (x, draw(Operand("weight", ("N",), "float32"))),
    exact=exact,
    baseline=lambda x, weight, out: torch.mv(x.float(), weight, out=out),
    aten=("mv.out",),
)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(operations, "_added", {})
    (tmp_path / "beside.py").write_text("describe = 1\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def weighted_sum(folder):
    path = folder / "weighted_sum.py"
    path.write_text(WEIGHTED_SUM, encoding="utf-8")
    yield operations.load(operations.add(path))
    operations.load.cache_clear()


@pytest.mark.parametrize("name", operations.names())
def test_the_baseline_is_right_and_the_operands_are_what_it_says(name):
    operation = operations.load(name)
    x = torch.randn(6, 40)
    drawn = []

    def draw(operand):
        drawn.append(operand)
        return draw_operand(operand, torch.float32, *x.shape, len(drawn), CPU)

    inputs = operation.inputs_of(x, draw)
    assert [t.shape for t in inputs] == [o.sizes(6, 40) for o in operation.inputs]
    outputs = [torch.full(output.sizes(6, 40), torch.nan) for output in operation.outputs]
    operation.baseline(*inputs, operations.as_out(tuple(outputs)))
    results = operation.exact_outputs(inputs, torch.float32)
    for y, exact in zip(outputs, results, strict=True):
        assert ((y - exact.y).abs() <= exact.bound + 2**-24 * exact.y.abs()).all()
    assert {*drawn} <= {*operation.inputs}
    sizes = sum(t.nbytes for t in (*inputs, *outputs))
    assert operation.call_bytes(6, 40, 4) == sizes


def test_planning_names_operations_without_torch():
    code = "import sys, operations; print(operations.names()); assert 'torch' not in sys.modules"
    assert "log_softmax_backward" in run_code(code)


def test_a_file_from_elsewhere_is_an_operation_with_any_operands(weighted_sum):
    assert "weighted_sum" in operations.names()
    assert [o.sizes(3, 5) for o in weighted_sum.inputs] == [(3, 5), (5,)]
    assert weighted_sum.call_bytes(3, 5, 2) == 2 * 15 + 4 * 5 + 4 * 3
    x, weight = inputs = torch.randn(3, 5).half(), torch.randn(5)
    assert weighted_sum.sizes_and_dtype(inputs) == (3, 5, torch.float16)
    rows, whole = operations.rows_of(weighted_sum.inputs, inputs, lambda t: t[[2, 0]])
    assert torch.equal(rows, x[[2, 0]])
    assert torch.equal(whole, weight)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent.py", "no such Python file"),
        ("Upper.py", "lower-case letters"),
        ("softmax.py", "another operation 'softmax'"),
    ],
)
def test_a_file_that_cannot_be_an_operation_is_refused(name, words, folder):
    if name != "absent.py":
        (folder / name).write_text(WEIGHTED_SUM, encoding="utf-8")
    with pytest.raises(operations.OperationFileError, match=words):
        operations.add(folder / name)
    with pytest.raises(PointError, match=words):
        Point("cpu", "float32", 2, 2, "torch_softmax", operation_files=[folder / name])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"float32"', '"int32"', "operand 'weight' has .* dtype 'int32'; allowed .*float32, int64"),
        ('("N",)', '("N", "M")', r"shape \('N', 'M'\) .*allowed shapes: \('M', 'N'\)"),
        ('"read"', '"reed"', "roofline = 'reed'; allowed: 'copy', 'add', 'read'"),
        ('"read"', '"copy"', "reads 1 and writes 1 matrices .* has 1 inputs and 0 outputs"),
        ('"read"', '"add"', "roofline = 'add' reads 2 and writes 1"),
        ('"read_meet"', '"read_meet_write"', "meeting_roofline = 'read_meet_write' reads 1 and"),
    ],
)
def test_what_an_operation_cannot_be_is_said(old, new, words, folder):
    path = folder / "wrong.py"
    path.write_text(WEIGHTED_SUM.replace(old, new), encoding="utf-8")
    with pytest.raises(operations.OperationFileError, match=words):
        operations.load(operations.add(path))


def test_a_file_without_an_operation_is_named(folder):
    (folder / "empty.py").write_text("OPERATION = 1\n", encoding="utf-8")
    name = operations.add(folder / "empty.py")
    with pytest.raises(operations.OperationFileError, match=r"empty\.py defines no OPERATION"):
        operations.load(name)


def test_an_unknown_operation_is_answered_with_those_there_are():
    with pytest.raises(KeyError, match=r"softmaks.*there are: cross_entropy, "):
        operations.load("softmaks")
