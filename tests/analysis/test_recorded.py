"""What is recorded, what may be shared as recorded data, and what may not."""

import gzip
import subprocess
from pathlib import Path

import pytest
import yaml

from analysis import InputError, merge, recorded
from measure import ROOT
from tests.analysis import synthetic

COMMAND = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
HEAD = subprocess.run(COMMAND, capture_output=True, text=True, encoding="utf-8").stdout.strip()
GPU = {"gpu": "rtx4090", "gpu_name": "NVIDIA GeForce RTX 4090", "git_commit": HEAD}

pytestmark = pytest.mark.skipif(not HEAD, reason="this is no git checkout")


def make(root: Path, sweep="online_softmax", **change) -> Path:
    """The recorded folder of a made-up GPU: two timed rows, and one without a time."""
    fake_row = GPU | change
    timed = ("torch_jit", "triton_row")
    lines = [synthetic.row(variant=name, n_samples=1, **fake_row) for name in timed]
    lines.append(synthetic.row(variant="triton_fused", status="unsupported", **fake_row))
    files = [synthetic.write_row(root, line) for line in lines]
    merge.merge_rows(files, sweep, root / "merged.csv")
    folder = root / fake_row["gpu"]
    recorded.record(root / "merged.csv", root / "rows", folder, "make record")
    return folder


@pytest.fixture
def folder(tmp_path):
    return make(tmp_path)


def refused(folder, words):
    with pytest.raises(InputError, match=words):
        recorded.check_folders([folder])


def test_what_is_recorded_here_is_fit():
    for path in sorted((ROOT / "data" / "recorded").iterdir()):
        assert path.name in recorded.check_folders([path])


def test_rows_that_nobody_could_follow_up_are_refused(tmp_path):
    for change, words in (
        ({"git_dirty": "true"}, "3 rows were measured with edited code"),
        ({"git_commit": "0" * 40}, "which this checkout does not have"),
        ({"gpu_name": "NVIDIA H100"}, "whose short name is 'h100'; rename"),
    ):
        refused(make(tmp_path / next(iter(change)), **change), words)


def test_the_rows_of_another_model_are_not_overwritten(folder, tmp_path):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(InputError, match=r"online_softmax\.csv is of 'NVIDIA GeForce RTX 4090'"):
        make(tmp_path, gpu_name="NVIDIA RTX 4090 D")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_provenance_that_lacks_a_fact_or_contradicts_its_rows_is_refused(folder):
    path = folder / "online_softmax.yaml"
    facts = yaml.safe_load(path.read_text(encoding="utf-8"))
    for fact, value in (("rows_by_status", {"ok": 3}), ("driver", "1.2")):
        path.write_text(recorded.to_yaml(facts | {fact: value}), encoding="utf-8")
        refused(folder, "not the provenance of its rows")
    for text in ("driver: 1.2", "{"):
        path.write_text(text, encoding="utf-8")
        refused(folder, "has no command that measured the rows")


def test_samples_that_are_not_the_rows_are_refused(folder):
    path = folder / "online_softmax.samples.csv.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    start, _, time_us = lines[1].rpartition(",")
    for changed, words in (
        ([line for line in lines if "triton_row" not in line], "0 samples of"),
        ([*lines, lines[-1].replace("torch,", "variant,")], "2 samples of"),
        ([*lines, lines[1].replace("1024", "77", 1)], "samples of no row"),
        ([lines[0].replace("block", "bloc"), *lines[1:]], "columns are"),
        ([*lines[:-1], "one,two"], "not numbers"),
        ([lines[0], f"{start},{float(time_us) * 1.0001}", *lines[2:]], "the row says 1 of"),
    ):
        path.write_bytes(gzip.compress("\n".join([*changed, ""]).encode()))
        refused(folder, words)


def test_every_fault_of_every_folder_is_told(tmp_path, folder):
    (folder / "online_softmax.yaml").unlink()
    with pytest.raises(InputError, match=r"online_softmax\.yaml: missing") as raised:
        recorded.check_folders([folder, tmp_path / "absent"])
    assert str(raised.value).count("\n") == 2


def test_record_keeps_rows_samples_and_provenance(folder, tmp_path):
    assert "1 sweeps, 3 rows, all correct" in recorded.check_folders([folder])
    *_, samples, about = (folder / f"online_softmax{suffix}" for suffix in recorded.SUFFIXES)
    head, first, *more = gzip.decompress(samples.read_bytes()).decode().splitlines()
    identity = "gpu,op,dtype,distribution,M,N,variant,seed,blocks,replicate"
    assert head == f"{identity},block,order,series,time_us"
    assert first.startswith("rtx4090,softmax,float32,uniform,1024,1024,torch_jit,3407,51,1,0,0,var")
    assert len(more) == 3
    facts = yaml.safe_load(about.read_text(encoding="utf-8"))
    assert facts["title"] == "online_softmax on NVIDIA GeForce RTX 4090"
    assert facts["command"] == "make record"
    assert facts["recorded"] == "2026-11-20"
    assert facts["rows_by_status"] == {"ok": 2, "unsupported": 1}
    assert "nvrtc" not in facts
    before = samples.read_bytes()
    make(tmp_path)
    assert samples.read_bytes() == before


def test_record_refuses_missing_samples_and_the_folder_of_another_gpu(tmp_path):
    path = synthetic.write_row(tmp_path, synthetic.row())
    merge.merge_rows([path], "s", tmp_path / "h200.csv")
    with pytest.raises(InputError, match="has rows of gpu h200, but"):
        recorded.record(tmp_path / "h200.csv", tmp_path / "rows", tmp_path / "a100", "x")
    path.with_suffix(".samples.csv.gz").unlink()
    with pytest.raises(InputError, match="no such file; delete its row"):
        recorded.record(tmp_path / "h200.csv", tmp_path / "rows", tmp_path / "h200", "x")
    assert not any((tmp_path / name).exists() for name in ("h200", "a100"))
