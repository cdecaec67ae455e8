"""Points that cannot exist are refused in one sentence; device names become slugs."""

import pytest

from measure import ROOT
from measure import __main__ as command_line
from measure.device import gpus
from measure.errors import PointError
from tests.bench import point


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dtype": "float23"}, "unknown dtype 'float23'; did you mean 'float32'"),
        ({"variant": "triton_onlin"}, "did you mean triton_online"),
        ({"M": 0}, "M = 0: a whole number of at least 1"),
        ({"seed": 2**64}, "seed = 18446744073709551616: a whole number from 0"),
        ({"M": 2**31, "N": 2**31}, "M·N = 4611686018427387904: at most"),
        ({"blocks": 10**7}, "blocks = 10000000: at most 1000000"),
        ({"replicate": 10**5}, "replicate = 100000: at most 10000"),
        ({"blocks": 5}, "blocks = 5: a whole number of at least 6"),
        ({"timeout_s": float("inf")}, "timeout_s = inf: it must be above 0 and at most 1000000"),
    ],
)
def test_a_bad_point_says_what_is_wrong(change, words):
    with pytest.raises(PointError) as caught:
        point(**change)
    assert words in str(caught.value)


def test_triton_is_interpreted_on_a_cpu_only():
    assert point(variant="triton_row").interpreted
    assert not point(variant="torch_naive").interpreted
    assert not point(variant="triton_row", gpu="h200").interpreted


SLUGS = {
    "NVIDIA A100-PCIE-40GB": "a100_pcie_40gb",
    "NVIDIA A100 80GB PCIe": "a100_80gb_pcie",
    "NVIDIA H100 80GB HBM3": "h100",  # its recorded name
    "NVIDIA H100 80GB HBM3 MIG 1g.10gb": "h100_mig_1g_10gb",
    "NVIDIA H100 80GB HBM3 MIG 1g.10gb+me": "h100_mig_1g_10gb_me",
    "NVIDIA H100 PCIe": "h100_pcie",
    "NVIDIA H100 80GB HBM2e": "h100_80gb_hbm2e",
    "NVIDIA GH200 144G HBM3e": "gh200_144g_hbm3e",
    "NVIDIA B200": "b200",
    "NVIDIA L40S": "l40s",
    "Tesla V100-SXM2-16GB": "v100_sxm2_16gb",
    "NVIDIA GeForce GTX 1060 3GB": "gtx1060_3gb",
    "NVIDIA RTX A6000": "rtxa6000",
    "Quadro RTX 6000": "rtx6000",
    "NVIDIA GeForce RTX 4090 Laptop GPU": "rtx4090laptop",
    "NVIDIA RTX 6000 Ada Generation": "rtx6000ada",
    "AMD Instinct MI300X": "mi300x",
}


def test_slugs():
    assert {name: gpus.slug(name) for name in SLUGS} == SLUGS
    assert len(set(SLUGS.values())) == len(SLUGS), "each board has its own"


def test_where_no_row_can_be_written_nothing_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command_line, "measure_point", pytest.fail)
    (tmp_path / "file").touch()
    for output, why in ((tmp_path, "it is a folder"), (tmp_path / "file/row.csv", "File exists")):
        words = ["--gpu", "cpu", "--M", "4", "--N", "8", "--variant", "torch_softmax"]
        assert command_line.main(["point", *words, "--output", str(output)]) == 2
        assert f"error: cannot write {output}: {why}" in capsys.readouterr().err


@pytest.mark.parametrize("folder", [".", str(ROOT)])
def test_a_kernel_file_of_the_project_is_its_variant(folder, tmp_path, monkeypatch):
    def refuse(request, *_):
        measured.append(request)
        raise PointError("measured")

    measured = []
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(command_line, "measure_point", refuse)
    words = ["--gpu", "cpu", "--M", "4", "--N", "8", "--output", str(tmp_path / "row.csv")]
    words += ["--kernel", f"{folder}/kernels/published/torch_naive.py"]
    assert command_line.main(["point", *words]) == 2
    assert [(request.variant, request.files) for request in measured] == [("torch_naive", ())]


@pytest.mark.parametrize("number", ["-1", "0", "x", "9" * 20])
def test_what_is_no_process_owns_no_server(number, capsys):
    words = ["--M", "4", "--N", "8", "--output", "row.csv", "--served-for", number]
    with pytest.raises(SystemExit, match="2"):
        command_line.main(["point", *words])
    assert f"{number!r} is not the number of a process" in capsys.readouterr().err
