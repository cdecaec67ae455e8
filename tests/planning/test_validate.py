"""A config is accepted, or refused with every fault by its key."""

import copy

import pytest
import yaml

from kernels.registry import discover
from measure import ROOT
from planning import validate

DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))


def edited(**change):
    return copy.deepcopy(DEFAULT) | change


def test_every_sweep_that_ships_is_accepted_and_the_schema_has_the_keys_of_the_default():
    schema = yaml.safe_load(validate.SCHEMA_FILE.read_text(encoding="utf-8"))
    assert set(schema["required"]) == schema["properties"].keys() == DEFAULT.keys()
    assert all(key["description"] for key in schema["properties"].values())
    validate.validate_config(DEFAULT)
    for overlay in sorted((ROOT / "sweeps").glob("*.yaml")):
        sweep = yaml.safe_load(overlay.read_text(encoding="utf-8"))
        assert sweep.keys() <= DEFAULT.keys()
        validate.validate_config(DEFAULT | sweep)


def test_every_key_of_the_default_has_a_comment_above_it():
    lines = (ROOT / "config.yaml").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if line and not line.startswith((" ", "#")):
            assert lines[number - 1].startswith("#"), f"no comment above {line!r}"


SHAPE = {"M": 4, "N": 8}
RANGE = {"from": 1, "to": 64}
RANDOM = {"random": 9, "M": RANGE, "N": RANGE, "elements": RANGE}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"varaints": "all"}, "unknown key 'varaints'; did you mean 'variants'?"),
        ({"variants": ["triton_onlin"]}, "variants: unknown variant 'triton_onlin'; did you mean"),
        (
            {"variants": "al"},
            "variants: unknown value 'al': give a list of variants, `all` or `rivals`; did",
        ),
        ({"variants": []}, "variants = []: the list is empty"),
        ({"shapes": [SHAPE | {"variants": ["tritn_row"]}]}, "shapes[0].variants: unknown variant"),
        ({"dtypes": ["flot32"]}, "dtypes[0]: unknown value 'flot32'; did you mean 'float32'?"),
        ({"shapes": [{"M": 4}]}, "shapes[0]: missing N"),
        ({"shapes": [{"N": 8}]}, "shapes[0]: give M or elements"),
        ({"shapes": [SHAPE | {"elements": 64}]}, "shapes[0]: give M or elements, not both"),
        ({"shapes": [RANDOM | {"N": 8}]}, "shapes[0].N = 8: must be {from, to}"),
        ({"op": ["softmax", "log_sotfmax"]}, "op: unknown value 'log_sotfmax'; did you mean"),
        ({"shapes": [{"M": "4", "N": 8}]}, "numbers in lists as strings; use --configfile"),
        ({"timeout_s": float("nan")}, "timeout_s = nan: must be a finite number"),
        ({"shapes": [{"M": 2**63, "N": 8}]}, "shapes[0].M = 9223372036854775808: must be at most"),
        ({"sweep": "a" * 210}, ": at most 100 characters (it is part of file names)"),
        ({"shapes": [{"M": 4, "N": 1024.0}]}, "shapes[0].N = 1024.0: must be a whole number, a"),
        ({"blocks": 5}, "blocks = 5: must be at least 6"),
        ({"timeout_s": 0}, "timeout_s = 0: must be above 0"),
        ({"kernel_files": ["x.py"]}, "kernel_files[0]: kernel 'x.py': no such file; name a .py"),
        ({"sweep": "my sweep; rm -rf /"}, "only lower-case letters, digits and underscores"),
    ],
)
def test_bad_values_are_refused_by_name(change, words):
    with pytest.raises(validate.ConfigError) as caught:
        validate.validate_config(edited(**change))
    assert words in str(caught.value)


def test_a_keyword_names_a_kernel_file_that_cannot_be_read_once(monkeypatch, tmp_path):
    file = tmp_path / "odd_kernel.py"
    file.write_text("softmax = print\nON_REQUEST = not True\n", encoding="utf-8")
    monkeypatch.setattr(discover, "_files", lambda: {"odd_kernel": file})
    shape = SHAPE | {"variants": "rivals"}
    with pytest.raises(validate.ConfigError) as caught:
        validate.validate_config(edited(shapes=[SHAPE, shape], variants="all"))
    fault = f"{file}: ON_REQUEST = not True: it must be a literal, such as True"
    assert str(caught.value).splitlines()[1:] == [f"  {fault}"]


def test_every_fault_is_named_at_once():
    with pytest.raises(validate.ConfigError) as caught:
        validate.validate_config(edited(seed=-1, dtypes=[], sed=1))
    assert len(str(caught.value).splitlines()) == 4
