"""The base of a pull request is measured without the kernels that the request adds."""

import pytest
import yaml

from planning import base_sweep

FILES = ["here.py", "sub/added.py"]
SHAPE = {"M": 4, "N": 8}
SWEEP = {"sweep": "mine", "kernel_files": FILES, "shapes": [SHAPE]}
SWEEP["variants"] = ["torch_softmax", "here", "added", "added__w4"]


@pytest.fixture
def printed(tmp_path, capsys):
    """printed(sweep): the exit code, the sweep that is printed, and the errors."""
    (tmp_path / "here.py").touch()

    def call(sweep):
        path = tmp_path / "sweep.yaml"
        path.write_text(yaml.safe_dump(sweep), encoding="utf-8")
        code = base_sweep.main([str(path), str(tmp_path)])
        said = capsys.readouterr()
        return code, yaml.safe_load(said.out), said.err

    return call


def test_kernels_that_the_base_lacks_are_left_out(printed, tmp_path):
    only_added = SHAPE | {"variants": ["added"]}
    both = SHAPE | {"variants": ["added", "here"]}
    code, base, _ = printed(SWEEP | {"shapes": [SHAPE, only_added, both]})
    assert code == 0
    expected = {"kernel_files": ["here.py"], "variants": ["torch_softmax", "here"]}
    assert base == SWEEP | expected | {"shapes": [SHAPE, SHAPE | {"variants": ["here"]}]}
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/added.py").touch()
    assert printed(SWEEP)[1] == SWEEP


@pytest.mark.parametrize("change", [{"variants": "all"}, {"shapes": "4x8"}, {"shapes": [4]}])
def test_what_names_no_variants_stays(printed, change):
    code, base, _ = printed(SWEEP | {"kernel_files": FILES[1:]} | change)
    assert (code, base["kernel_files"]) == (0, [])
    assert {name: base[name] for name in change} == change


def test_a_base_with_nothing_to_measure_is_refused(printed, capsys):
    code, _, said = printed(SWEEP | {"variants": ["added"]})
    assert (code, said.count("\n")) == (2, 1)
    assert said.endswith("has no kernel of it; add torch_softmax to 'variants'\n")
    for words in ([], ["none.yaml", "old"]):
        assert base_sweep.main(words) == 2
        assert capsys.readouterr().err.startswith("error: ")
