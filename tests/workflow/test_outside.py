"""Kernels from outside the project in a sweep."""

import pytest

import kernels
from measure import __main__ as command_line
from measure.fingerprint import fingerprint
from planning import points, validate
from tests.bench import read_row
from tests.kernels.helpers.variants import forget
from tests.planning.test_validate import edited
from tests.workflow.runner import Runner, configure

HELPER = "def weights(x):\n    return (x - x.amax(-1, keepdim=True)).exp()\n"
KERNEL = """import torch
from helper import weights


def softmax(x, out=None):
    y = weights(x.float())
    y = (y / y.sum(-1, keepdim=True)).to(x.dtype)
    return y if out is None else out.copy_(y)
"""
NAME = 'it\'s {x}; $(touch gone) "mine"'  # a folder that a shell would take for several words


@pytest.fixture
def mine(tmp_path):
    """A kernel outside the project, and what it imports beside it."""
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / "helper.py").write_text(HELPER, encoding="utf-8")
    (folder / "mine.py").write_text(KERNEL, encoding="utf-8")
    yield folder / "mine.py"
    forget()


def test_all_includes_the_files_and_each_point_names_only_its_own(mine):
    config = edited(kernel_files=[str(mine)], shapes=[{"M": 4, "N": 8}])
    validate.validate_config(config)
    by_variant = {point.variant: point for point in points.expand(config, "h200")}
    assert set(by_variant) == {*kernels.default_variants("softmax"), "mine"}
    assert by_variant["mine"].files == (str(mine),)
    assert {p.files for name, p in by_variant.items() if name != "mine"} == {()}


@pytest.mark.parametrize("name", ["mine.py", "--mine/mine.py"])
def test_the_options_of_a_point_name_the_file(mine, monkeypatch, name):
    monkeypatch.chdir(mine.parent)
    (mine.parent / "--mine").mkdir()
    (mine.parent / "--mine" / "mine.py").write_text(KERNEL, encoding="utf-8")
    config = edited(kernel_files=[name], shapes=[{"M": 4, "N": 8}], variants=["mine"])
    (point,) = points.expand(config, "h200")
    words = ["point", *points.options(point), "--variant", "mine", "--M", "4", "--N", "8"]
    given = command_line.parser().parse_args([*words, "--output", "row.csv"])
    assert tuple(given.files) == point.files == (name,)


def test_a_sweep_measures_it_again_when_its_import_was_edited(project, mine, monkeypatch):
    """The path is relative to where jobs run; an import is from the user's PYTHONPATH."""
    elsewhere = mine.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "far_helper.py").touch()
    mine.write_text(f"import far_helper\n{KERNEL}", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(elsewhere))
    given = f"../{NAME}/mine.py"
    change = {"shapes": [{"M": 4, "N": 8}], "variants": ["torch_softmax", "mine"]}
    configure(project, kernel_files=[given], **change)
    runner = Runner(project)
    helper = mine.parent / "helper.py"
    for text in (HELPER, f"{HELPER}EDITED = True\n"):  # the second: by a server that has the first
        helper.write_text(text, encoding="utf-8")
        assert runner.jobs("rows")["point"] == (2 if text == HELPER else 1)
        runner("rows")
        forget()
        kernels.add_variant(mine)
        planned = f"mine.{fingerprint('mine', 'softmax')}.1"
        row = read_row(next(path for path in runner.rows() if path.stem == planned))
        assert (row["status"], row["variant"]) == ("ok", "mine")
        assert row["kernel_sha256"] == kernels.kernel_sha256("mine")
    assert not list(project.rglob("gone")) + list(mine.parent.rglob("gone"))
    (mine.parent / "another.py").write_text(KERNEL, encoding="utf-8")
    change["variants"] = [*change["variants"], "another"]
    configure(project, kernel_files=[given, f"../{NAME}/another.py"], **change)
    # the new one's; that it is in the list measures nothing again
    assert runner.jobs("rows") == {"point": 1, "rows": 1}
