"""A shape of the command line becomes the config of a sweep, and who competes there."""

import pytest

import kernels
from kernels.registry import discover
from measure import ROOT
from planning import points
from planning.single_shape import expand_words, workloads
from planning.validate import ConfigError
from tests.planning.test_validate import DEFAULT


def expanded(chosen=(), **words):
    config = DEFAULT | words
    expand_words(config, chosen)
    return config


def test_words_become_the_shapes_and_dtypes_of_a_sweep_with_every_rival():
    config = expanded(shape="4096x128256", dtype="bfloat16", op="log_softmax")
    planned = points.expand(config, "h200")
    (matrix,) = {(p.op, p.dtype, p.distribution, p.M, p.N) for p in planned}
    assert matrix == ("log_softmax", "bfloat16", "normal", 4096, 128256)
    assert config["sweep"] == "shape"
    several = expanded(shape=["1x8", "2x9"])
    assert [(s["M"], s["N"]) for s in several["shapes"]] == [(1, 8), (2, 9)]


def test_what_the_user_chose_stays_and_without_words_everything_does():
    config = expanded(["variants"], shape="4x8", variants=["triton_row"])
    assert [p.variant for p in points.expand(config, "h200")] == ["triton_row"]
    assert expanded() == DEFAULT
    assert expanded(dtype="float16") == DEFAULT | {"dtypes": ["float16"]}


def test_workloads_are_those_of_the_sweeps_and_of_the_config():
    entries = [{"name": "mine", "M": [1, 2], "N": 8}, {"M": 3, "N": 8}]
    config = DEFAULT | {"shapes": entries, "op": ["softmax", "log_softmax"]}
    shown = workloads(config, [ROOT / "sweeps/workloads.yaml"])
    assert ("GPT-2 sampling", "softmax", "float32", 64, 50257) in shown
    assert ("Qwen 3 sampling", "softmax", "bfloat16", 64, 151936) in shown
    mine = [(op, m) for name, op, _, m, _ in shown if name == "mine"]
    assert mine == [(op, m) for op in ("softmax", "log_softmax") for m in (1, 2)]
    assert all((m, n) != (3, 8) for *_, m, n in shown), "a shape without a name"


@pytest.mark.parametrize("text", ["4096", "0x8", "8x", "8 x 8", 4096, ["4x8", "abc"], []])
def test_what_is_no_shape_is_refused_with_an_example(text):
    with pytest.raises(ConfigError, match="M x N without blanks is needed, as shape=4096x128256"):
        expanded(shape=text)


def test_rivals_are_torch_the_choice_of_the_project_every_peer_and_added_kernels(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(discover, "_added", {})  # other tests add a kernel of this name
    (tmp_path / "mine.py").write_text("def softmax(x, out=None): ...\n", encoding="utf-8")
    mine = kernels.add_variant(tmp_path / "mine.py")
    added = {name for name in kernels.names("softmax") if kernels.family(name) == "contributed"}
    peers = {name for name in kernels.names("softmax") if kernels.family(name) == "peers"}
    first, *further = kernels.rivals("softmax", [mine])
    assert (first, set(further)) == (mine, {"torch_softmax", "frontier", *added, *peers})
    backward = {"torch_softmax", "cuda_backward", "triton_backward"}
    assert set(kernels.rivals("softmax_backward", [mine])) - added == backward
