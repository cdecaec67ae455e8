"""Which rows the next call measures again, and where those lie."""

import pytest

from measure.fingerprint import fingerprint
from planning import attempts, points
from tests.analysis import synthetic
from tests.planning.test_points import expand

BASE = fingerprint("triton_row", "softmax")


def planned(timeout_s=120):
    """The rows that three replicates of a point have now: the ends of their fingerprints."""
    shape = [{"M": 4, "N": 8}]
    some = expand(shapes=shape, variants=["triton_row"], replicates=3, timeout_s=timeout_s)
    (name,) = {point.fingerprint for point in some}
    assert name.startswith(BASE)
    return name[len(BASE) :]


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a row of such a replicate."""
    monkeypatch.chdir(tmp_path)

    def write(replicate, status, attempt="", **columns):
        point = {"variant": "triton_row", "M": 4, "N": 8, "fingerprint": BASE + attempt}
        row = synthetic.row(**point, replicate=replicate, status=status, **columns)
        synthetic.write_row(tmp_path / "results", row)

    return write


def test_rows_without_memory_or_time_are_measured_again_and_no_others(write):
    assert planned() == ""
    for replicate, status in enumerate(("ok", "unavailable", "crash"), start=1):
        write(replicate, status, message="no, timeout, ,out_of_memory, here")
    assert planned() == ""
    write(2, "out_of_memory")
    assert planned() == "_2"
    write(1, "ok", attempt="_2")
    assert planned() == "_2"
    write(3, "timeout", attempt="_2", timeout_s=3)
    assert planned(timeout_s=3) == "_2"
    assert planned(timeout_s=100) == "_3"


def test_an_allocation_that_starts_again_finds_the_attempt_of_its_plan(write):
    write(1, "out_of_memory")
    write(1, "out_of_memory", attempt="_2")
    (point,) = expand(shapes=[{"M": 4, "N": 8}], variants=["triton_row"])
    names = [
        points.row_path(attempt).split(".")[1] for attempt in [*attempts.previous(point), point]
    ]
    assert names == [BASE, f"{BASE}_2", f"{BASE}_3"]
