"""A config is accepted, or refused with every fault by its key."""

import ast
import copy

import pytest
import yaml

from analysis.schema import flags as known
from measure.fingerprint import ROOT
from planning import config as checks

DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text())


def edited(**change):
    return copy.deepcopy(DEFAULT) | change


def test_every_sweep_that_ships_is_accepted():
    checks.check(DEFAULT, [])
    for overlay in sorted((ROOT / "sweeps").glob("*.yaml")):
        given = yaml.safe_load(overlay.read_text())
        assert given.keys() <= DEFAULT.keys()
        checks.check(DEFAULT | given, [given])


def test_every_key_of_the_default_has_a_comment_above_it():
    lines = (ROOT / "config.yaml").read_text().splitlines()
    for number, line in enumerate(lines):
        if line and not line.startswith((" ", "#")):
            assert lines[number - 1].startswith("#"), f"no comment above {line!r}"


SHAPE = {"M": 4, "N": 8}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"varaints": "all"}, "unknown key 'varaints'; did you mean 'variants'?"),
        ({"cpu": DEFAULT["cpu"] | {"max_elemnts": 3}}, "cpu: unknown key 'max_elemnts'"),
        ({"shapes": [SHAPE | {"K": 1}]}, "shapes[0]: unknown key 'K'"),
        (
            {"shapes": [{"M": 4, "N": {"from": 1, "to": 2, "stepp": 1, "step": 1}}]},
            "shapes[0].N: unknown key 'stepp'; did you mean 'step'?",
        ),
        ({"variants": ["triton_onlin"]}, "variants: unknown variant 'triton_onlin'; did you mean"),
        ({"variants": "al"}, "variants = 'al': must be a list of variants, or the word all"),
        ({"variants": []}, "variants = []: the list is empty"),
        (
            {"shapes": [SHAPE | {"variants": ["tritn_row"]}]},
            "shapes[0].variants: unknown variant 'tritn_row'; did you mean triton_row",
        ),
        ({"dtypes": ["flot32"]}, "dtypes[0]: unknown value 'flot32'; did you mean 'float32'?"),
        ({"gpus": []}, "gpus = []: the list is empty"),
        ({"gpus": ["A 100"]}, "gpus[0] = 'A 100': only lower-case letters, digits"),
        ({"shapes": [{"M": 4}]}, "shapes[0]: missing N"),
        ({"shapes": [{"N": 8}]}, "shapes[0]: give M or elements"),
        ({"shapes": [SHAPE | {"elements": 64}]}, "shapes[0]: give M or elements, not both"),
        ({"shapes": [{"elements": 0, "N": 8}]}, "shapes[0].elements = 0: must be at least 1"),
        ({"op": "log_sotfmax"}, "op: unknown value 'log_sotfmax'; did you mean 'log_softmax'?"),
        ({"shapes": [{"M": 0, "N": 8}]}, "shapes[0].M = 0: must be at least 1"),
        ({"shapes": [{"M": 4, "N": [8, -8]}]}, "shapes[0].N[1] = -8: must be at least 1"),
        ({"shapes": [{"M": 4, "N": [8.5]}]}, "shapes[0].N[0] = 8.5: must be a whole number"),
        ({"shapes": [{"M": 4, "N": 1024.0}]}, "shapes[0].N = 1024.0: must be a whole number, a"),
        ({"shapes": [{"M": "4", "N": 8}]}, "shapes[0].M = '4': must be a whole number, a list"),
        ({"distribution": "gauss"}, "distribution: unknown value 'gauss'"),
        ({"seed": -1}, "seed = -1: must be at least 0"),
        ({"interval_width": 0}, "interval_width = 0: must be above 0"),
        (
            {"unranked_flags": ["not_cold", "thortled"]},
            "unranked_flags[1]: unknown value 'thortled'; did you mean 'throttled'?",
        ),
        ({"unranked_flags": ["xyz"]}, "unranked_flags[0]: unknown value 'xyz'; allowed: aa_biased"),
        ({"unranked_flags": "throttled"}, "unranked_flags = 'throttled': must be a list"),
        ({"unranked_flags": None}, "unranked_flags = None: must be a list"),
        ({"time_budget_s": "long"}, "time_budget_s = 'long': must be a number"),
        ({"sweep": "my sweep; rm -rf /"}, "only lower-case letters, digits and underscores"),
    ],
)
def test_bad_values_are_refused_by_name(change, words):
    with pytest.raises(checks.ConfigError) as caught:
        checks.check(edited(**change), [change])
    assert words in str(caught.value)


def test_the_flags_to_choose_from_are_those_that_measuring_gives():
    emitted = []
    for path in sorted((ROOT / "measure").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name == "flags":
                emitted += _listed(node)
    assert sorted(emitted) == sorted(known())


def _listed(function):
    """The words that a function puts into a list: in brackets, or by append."""
    for node in ast.walk(function):
        appends = isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "append"
        words = node.args if appends else node.elts if isinstance(node, ast.List) else []
        yield from (word.value for word in words if isinstance(word, ast.Constant))


@pytest.mark.parametrize("key", ["variants", "shapes", "cpu"])
def test_an_empty_table_is_refused_although_merging_drops_it(key):
    with pytest.raises(checks.ConfigError, match=f"{key} = {{}}: must be|{key}: missing"):
        checks.check(edited(), [{}, {key: {}}])


def test_every_fault_is_named_at_once():
    with pytest.raises(checks.ConfigError) as caught:
        checks.check(edited(seed=-1, dtypes=[], sed=1), [])
    assert len(str(caught.value).splitlines()) == 4


def test_no_key_may_be_missing():
    for key in DEFAULT:
        config = edited()
        del config[key]
        with pytest.raises(checks.ConfigError, match=f"missing {key}"):
            checks.check(config, [])
