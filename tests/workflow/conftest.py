"""A sweep that has run, for tests that only look at it and for those that go on with a copy."""

import shutil
from pathlib import Path

import pytest

from tests import copies
from tests.workflow.runner import Runner, configure


@pytest.fixture(scope="session")
def finished_sweep(tmp_path_factory) -> tuple[Path, dict[str, int]]:
    """A project in which the tiny sweep has run to the report, and what was planned before.

    Not to be changed: see `runner`.
    """
    folder = tmp_path_factory.mktemp("pipeline") / "project"
    copies.copy_project(folder, recorded="oneflow")  # each recorded sweep has figures to draw
    configure(folder)
    runner = Runner(folder)
    planned = runner.jobs()
    code, printed = runner.run()
    assert code == 0, printed
    return folder, planned


@pytest.fixture
def runner(finished_sweep, tmp_path) -> Runner:
    """A copy of that project, to be edited."""
    return Runner(shutil.copytree(finished_sweep[0], tmp_path / "project"))
