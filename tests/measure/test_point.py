"""Points that cannot exist are refused in one sentence; device names become slugs."""

import pytest

from measure import __main__ as command_line
from measure.device import gpus
from measure.errors import BadPoint
from tests.bench import point


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dtype": "float23"}, "unknown dtype 'float23'; did you mean 'float32'"),
        ({"dtype": "x"}, "allowed: float32, float16, bfloat16"),
        ({"variant": "triton_onlin"}, "did you mean triton_online"),
        ({"M": 0}, "M = 0: a whole number of at least 1"),
        ({"M": True}, "M = True"),
        ({"seed": 2**64}, "seed = 18446744073709551616: a whole number from 0"),
        ({"blocks": 5}, "blocks = 5: a whole number of at least 6"),
        ({"timeout_s": float("nan")}, "timeout_s = nan: it must be above 0"),
        ({"timeout_s": float("inf")}, "timeout_s = inf: it must be above 0 and at most 1000000"),
    ],
)
def test_a_bad_point_says_what_is_wrong(change, words):
    with pytest.raises(BadPoint) as caught:
        point(**change)
    assert words in str(caught.value)


def test_triton_is_interpreted_on_a_cpu_only():
    assert point(variant="triton_row").interpreted
    assert not point(variant="torch_naive").interpreted
    assert not point(variant="triton_row", gpu="h200").interpreted


SLUGS = {
    "NVIDIA A100-PCIE-40GB": "a100",
    "NVIDIA H100 80GB HBM3": "h100",
    "Tesla V100-SXM2-16GB": "v100",
    "NVIDIA GeForce RTX 3090 Ti": "rtx3090ti",
    "NVIDIA GeForce RTX 4090 Laptop GPU": "rtx4090laptop",
    "NVIDIA RTX 6000 Ada Generation": "rtx6000ada",
    "AMD Instinct MI300X": "mi300x",
}


def test_slugs():
    assert {name: gpus.slug(name) for name in SLUGS} == SLUGS


def test_where_no_row_can_be_written_nothing_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command_line, "measure_point", pytest.fail)
    (tmp_path / "file").touch()
    for output, why in ((tmp_path, "it is a folder"), (tmp_path / "file/row.csv", "File exists")):
        given = ["--gpu", "cpu", "--M", "4", "--N", "8", "--variant", "torch_softmax"]
        assert command_line.main(["point", *given, "--output", str(output)]) == 2
        assert f"error: cannot write {output}: {why}" in capsys.readouterr().err
