"""Whose fault an exception is, by the stage that raised it."""

import operator

import pytest

from measure import journal, pipeline
from measure.clock import controls
from measure.errors import NoRowError
from tests.bench import point


def broken(*_):
    raise ZeroDivisionError("not today")


def test_an_error_of_a_control_is_not_blamed_on_the_kernel(monkeypatch, tmp_path):
    monkeypatch.setitem(controls.HOST_ROOFLINES, "copy", broken)
    words = "the pipeline is at fault: recording the controls: ZeroDivisionError: not today"
    with pytest.raises(NoRowError, match=words):
        pipeline.measure(point(blocks=6), journal.Journal(tmp_path))


@pytest.mark.parametrize(
    ("during", "replaced", "status"),
    [("timing._record", "measure.clock.controls.HOST_ROOFLINES", "crash"),
     ("recheck.check_timed", "numpy.sort", "incorrect")],
)  # fmt: skip
def test_what_a_kernel_has_replaced_is_its_fault(during, replaced, status, monkeypatch, tmp_path):
    stage = operator.attrgetter(during)(pipeline)

    def replaces(*arguments):
        monkeypatch.setattr(replaced, broken)
        return stage(*arguments)

    monkeypatch.setattr(f"measure.pipeline.{during}", replaces)
    written = journal.Journal(tmp_path)
    assert pipeline.measure(point(blocks=6), written) == []
    assert written.row["status"] == status
