"""Merging cells, adding recorded rows, and recording them."""

import csv
import gzip

import pytest
import yaml

from analysis import InputError, schema
from analysis.merge import collect, merge_rows
from analysis.record import record
from tests.analysis import synthetic


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    root = tmp_path_factory.mktemp("cells")
    some = synthetic.sweep_rows([256, 1024, 131072], ["torch_softmax", "triton_row"])
    return [synthetic.write_row(root, row) for row in some]


def test_merge_adds_sweep_and_origin_and_sorts_by_size(cells, tmp_path):
    out = tmp_path / "h200.csv"
    assert merge_rows(reversed(cells), "online_softmax", out) == 6
    found = read(out)
    assert list(found[0]) == ["sweep", "origin", *schema.COLUMNS]
    assert {(row["sweep"], row["origin"]) for row in found} == {("online_softmax", "measured")}
    assert [row["N"] for row in found] == ["256", "256", "1024", "1024", "131072", "131072"]
    first = {name: found[0][name] for name in schema.COLUMNS}
    assert first == synthetic.row(N=256, variant="torch_softmax")


def test_merge_refuses_a_point_that_comes_twice(cells, tmp_path):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(cells[0].read_bytes())
    with pytest.raises(InputError, match=r"duplicate row \(h200 softmax float32 uniform 1024"):
        merge_rows([*cells, copy], "s", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.fixture
def recorded(tmp_path):
    folder = tmp_path / "recorded"
    synthetic.write_csv(folder / "h200" / "online_softmax.csv", [synthetic.row()])
    return folder


def files(recorded):
    return sorted(recorded.glob("*/*.csv"))


def test_collect_adds_recorded_gpus(recorded, tmp_path):
    cell = synthetic.write_row(tmp_path, synthetic.row(gpu="cpu"))
    merge_rows([cell], "online_softmax", tmp_path / "cpu.csv")
    assert collect([tmp_path / "cpu.csv"], files(recorded), tmp_path / "all.csv") == 2
    found = {row["gpu"]: (row["sweep"], row["origin"]) for row in read(tmp_path / "all.csv")}
    assert found == {"cpu": ("online_softmax", "measured"), "h200": ("online_softmax", "recorded")}


def test_collect_prefers_fresh_rows_of_the_same_gpu(recorded, cells, tmp_path):
    merge_rows(cells, "mine", tmp_path / "h200.csv")
    collect([tmp_path / "h200.csv"], files(recorded), tmp_path / "all.csv")
    assert {row["origin"] for row in read(tmp_path / "all.csv")} == {"measured"}


def test_of_a_matrix_on_several_boards_that_of_most_rows_ranks(tmp_path):
    boards = {"triton_row": "GPU-2", "triton_online": "GPU-2", "torch_softmax": "GPU-1"}
    rows = [synthetic.row(variant=name, gpu_uuid=uuid) for name, uuid in boards.items()]
    # as many of each: that of most rows of the sweep
    rows += [
        synthetic.row(variant=name, N=n, gpu_uuid=uuid)
        for n in (256, 512)
        for name, uuid in (("triton_row", "GPU-3"), ("torch_softmax", "GPU-1"))
    ]
    rows.append(synthetic.row(N=4096, gpu_uuid="GPU-1"))
    table = synthetic.write_csv(tmp_path / "h200" / "mine.csv", rows)
    collect([], [table], tmp_path / "all.csv")
    found = read(tmp_path / "all.csv")
    assert {(row["N"], row["gpu_uuid"]) for row in found if row["ranked"] == "true"} == {
        *(("1024", "GPU-2"), ("256", "GPU-1"), ("512", "GPU-1"), ("4096", "GPU-1")),
    }
    assert {row["unranked_by"] for row in found if row["ranked"] == "false"} == {"other_board"}


def test_collect_refuses_a_stranger_in_a_recorded_folder(recorded, tmp_path):
    synthetic.write_csv(recorded / "h200" / "more.csv", [synthetic.row(gpu="a100")])
    with pytest.raises(InputError, match="line 2 is of gpu a100, its folder says h200"):
        collect([], files(recorded), tmp_path / "all.csv")
    assert not (tmp_path / "all.csv").exists()


def test_record_keeps_rows_samples_and_provenance(cells, tmp_path):
    merge_rows(cells, "online_softmax", tmp_path / "h200.csv")
    out = tmp_path / "recorded" / "h200"
    tree = cells[0].parents[6]
    table, samples, about = record(tmp_path / "h200.csv", tree, out, "snakemake --cores 1")
    assert collect([], files(out.parent), tmp_path / "all.csv") == 6
    assert list(read(table)[0]) == list(schema.COLUMNS)
    lines = gzip.decompress(samples.read_bytes()).decode().splitlines()
    assert (
        lines[0]
        == "gpu,op,dtype,distribution,M,N,variant,seed,blocks,replicate,block,order,series,time_us"
    )
    assert len(lines) == 1 + 2 * 6
    assert lines[1].startswith(
        "h200,softmax,float32,uniform,1024,256,torch_softmax,3407,50,1,0,0,variant,"
    )
    facts = yaml.safe_load(about.read_text())
    assert facts["title"] == "online_softmax on NVIDIA H200"
    assert facts["command"] == "snakemake --cores 1"
    assert facts["recorded"] == "2026-11-20"
    assert facts["rows_by_status"] == {"ok": 6}
    assert "nvrtc" not in facts
    before = samples.read_bytes()
    record(tmp_path / "h200.csv", tree, out, "snakemake --cores 1")
    assert samples.read_bytes() == before


def test_record_refuses_missing_samples_and_another_gpu(tmp_path):
    path = synthetic.write_row(tmp_path, synthetic.row())
    merge_rows([path], "s", tmp_path / "h200.csv")
    path.with_suffix(".samples.csv.gz").unlink()
    out = tmp_path / "recorded"
    with pytest.raises(InputError, match="no such file, but the row has times"):
        record(tmp_path / "h200.csv", tmp_path / "rows", out / "h200", "x")
    with pytest.raises(InputError, match="rows of gpu h200"):
        record(tmp_path / "h200.csv", tmp_path / "rows", out / "a100", "x")
    assert not [path for path in out.rglob("*") if path.is_file()]
