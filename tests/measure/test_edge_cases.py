"""Edge cases hold the values they should."""

import pytest
import torch

from measure.check import correctness, edge_cases
from tests.bench import point

CPU = torch.device("cpu")


@pytest.mark.parametrize("op", ["softmax_backward", "log_softmax_backward"])
def test_gradients_of_the_edge_cases_are_large_and_not_finite_in_turn(op):
    cases = edge_cases.draw_cases(point(op=op, M=64, N=90), CPU)
    by_name = {name: inputs for name, _, inputs in cases}
    assert list(by_name)[-1] == "rows without a gradient"
    large, _ = by_name["large values"]
    assert large.amax(dim=1).min() < -9000 < 9000 < large.max()
    g, y = by_name.pop("rows without a gradient")
    assert y[0].isnan().all()
    assert (~y[1:].isnan()).all()
    assert g.isfinite().all(dim=1).tolist() == [True, True, False, False]
    assert all(g.isfinite().all() and not y.isnan().any() for g, y in by_name.values())


def test_every_kind_of_row_is_in_the_edge_cases():
    by_name = {name: x for name, _, (x,) in edge_cases.draw_cases(point(M=64, N=90), CPU)}
    assert list(by_name)[1] == "normal values"
    assert by_name["large values"].abs().max() < 65504  # the largest float16
    assert by_name["large values"].amax(dim=1).min() < -9000 < 9000 < by_name["large values"].max()
    assert by_name["rows with -inf"].isinf().any(dim=1).all()
    assert torch.softmax(by_name["rows with -inf"], dim=1).isfinite().all()
    without = torch.softmax(by_name["rows without a result"], dim=1).isnan().all(dim=1)
    assert 0 < without.sum() < len(without), "plain rows belong between them"


@pytest.mark.parametrize(
    ("gpu", "rows", "cols", "count"),
    [
        ("h200", 64, 96, 16),
        ("h200", 7, 96, 5),  # odd, as M is
        ("cpu", 64, 96, 4),
        ("h200", 64, correctness.ELEMENTS_CHECKED // 2, 2),
        ("h200", 1, 2 * correctness.ELEMENTS_CHECKED, 1),
    ],
)
def test_edge_cases_have_few_rows_and_their_number_is_like_m(gpu, rows, cols, count):
    assert edge_cases.row_count(point(gpu=gpu, M=rows, N=cols)) == count
