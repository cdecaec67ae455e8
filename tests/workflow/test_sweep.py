"""From a configuration to points, to files, to figure sets."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml

import kernels
from measure import __main__ as command_line
from measure.fingerprint import ROOT
from measure.point import Point
from workflow import machine, sweep
from workflow.config import ConfigError

DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text())


def overlay(name):
    return DEFAULT | yaml.safe_load((ROOT / f"sweeps/{name}.yaml").read_text())


def test_the_default_sweep_is_the_online_softmax_protocol_with_every_variant():
    points = sweep.points(DEFAULT, "h200")
    sizes = {2**i for i in range(8, 18)}
    assert {p.N for p in points} == sizes | {262144}
    assert {p.M for p in points} == {1024}
    for n in sizes:
        assert {p.variant for p in points if n == p.N} == set(kernels.by_default("softmax"))
    assert {p.variant for p in points if p.N == 262144} == {"torch_softmax", "triton_fused"}
    assert {(p.distribution, p.seed, p.dtype) for p in points} == {("uniform", 3407, "float32")}


def test_on_a_cpu_large_matrices_and_long_interpreted_rows_are_left_out():
    points = sweep.points(DEFAULT, "cpu")
    assert max(p.M * p.N for p in points) == DEFAULT["cpu"]["max_elements"]
    assert max(p.N for p in points if p.interpreted) == DEFAULT["cpu"]["max_interpreted_N"]
    left = len(sweep.points(DEFAULT, "h200")) - len(points)
    assert sweep.left_out(DEFAULT, "cpu") == left > 0
    assert f"({left} left out" in sweep.announce(DEFAULT, "cpu", points)
    assert "left out" not in sweep.announce(DEFAULT, "h200", sweep.points(DEFAULT, "h200"))


def test_protocols_have_the_sizes_of_their_sources():
    fused = sweep.points(overlay("fused_softmax"), "h200")
    assert sorted({p.N for p in fused}) == [128 * i for i in range(2, 100)]
    assert {(p.M, p.distribution) for p in fused} == {(4096, "normal")}
    eighth = {p.N for p in sweep.points(overlay("fused_softmax_eighth"), "h200")}
    assert eighth == {128 * i for i in range(2, 100, 8)} | {12160}
    online = sweep.points(overlay("online_softmax"), "h200")
    assert len(online) == 6 * 10 + 2
    oneflow = {(p.M, p.N) for p in sweep.points(overlay("oneflow"), "h200")}
    assert oneflow == {(32 * 64 * seq, seq) for seq in (16, 32, 64, 128, 512)}


def test_elements_fix_the_size_of_a_matrix_whatever_its_rows():
    config = DEFAULT | {"shapes": [{"elements": 1000, "N": [10, 300, 2000]}]}
    points = sweep.points(config | {"variants": ["torch_softmax"]}, "h200")
    assert [(p.M, p.N) for p in points] == [(100, 10), (3, 300), (1, 2000)]


def test_an_entry_may_have_dtypes_of_its_own():
    shapes = [{"M": 4, "N": 8}, {"M": 4, "N": 16, "dtypes": ["float16"]}]
    config = DEFAULT | {"shapes": shapes, "variants": ["torch_softmax"], "gpus": ["h200"]}
    points = sweep.points(config, "h200")
    assert [(p.dtype, p.N) for p in points] == [("float32", 8), ("float16", 16)]
    sets = sweep.figure_sets(config, Path("none"), ROOT / "data/published")
    assert [dtype for gpu, dtype, _ in sets if gpu == "h200"] == ["float32", "float16"]


def test_the_operation_is_part_of_every_point():
    points = sweep.points(DEFAULT | {"op": "log_softmax"}, "h200")
    assert {p.op for p in points} == {"log_softmax"}
    assert "/log_softmax/" in sweep.row_path(points[0])
    assert "log_softmax" in sweep.options(points[0])


def test_all_are_those_that_have_the_operation():
    points = sweep.points(DEFAULT | {"op": "softmax_backward", "variants": "all"}, "h200")
    names = {"cuda_backward", "torch_softmax", "triton_backward"}
    assert {p.variant for p in points if p.N == 256} == names
    backward = sweep.points(overlay("softmax_backward"), "h200")
    assert {(p.op, p.variant) for p in backward} == {("softmax_backward", name) for name in names}


def test_a_point_that_is_named_twice_is_measured_once():
    config = DEFAULT | {"shapes": [{"M": 4, "N": [8, 8]}, {"M": [4, 4], "N": 8}]}
    assert len(sweep.points(config, "h200")) == len(kernels.by_default("softmax"))


def test_a_row_lies_where_its_identity_says():
    config = DEFAULT | {"shapes": [{"M": 4, "N": 8}], "variants": ["triton_row"]}
    (point,) = sweep.points(config, "h200")
    path = "results/cells/h200/softmax/float32/uniform/M4/N8/triton_row.csv"
    assert sweep.row_path(point) == path


def test_nothing_to_measure_is_an_error():
    config = DEFAULT | {"shapes": [{"M": 2**20, "N": 2**20}]}
    with pytest.raises(ConfigError, match="nothing to measure on cpu"):
        sweep.points(config, "cpu")
    backwards = DEFAULT | {"shapes": [{"M": 4, "N": {"from": 9, "to": 8, "step": 1}}]}
    with pytest.raises(ConfigError, match="'to' is smaller"):
        sweep.points(backwards, "h200")


def test_a_timed_cpu_is_alone_and_everything_else_takes_one_core():
    variants = ["torch_jit", "triton_row", "cuda_oneflow"]
    config = DEFAULT | {"shapes": [{"M": 4, "N": 8}], "variants": variants}
    assert [sweep.threads(p, 8) for p in sweep.points(config, "cpu")] == [8, 1, 1]
    assert [sweep.threads(p, 8) for p in sweep.points(config, "h200")] == [1, 1, 1]


def test_figures_are_drawn_of_what_is_measured_recorded_and_published(tmp_path):
    recorded = tmp_path / "recorded"
    for gpu in ("h200", "b200"):
        (recorded / gpu).mkdir(parents=True)
        (recorded / gpu / "online_softmax.csv").write_text(
            f"gpu_name,dtype\nNVIDIA {gpu.upper()},float32\nNVIDIA {gpu.upper()},bfloat16\n"
        )
    config = DEFAULT | {"gpus": ["b200"]}
    assert sweep.figure_sets(config, recorded, ROOT / "data/published") == [
        ("b200", "float32", "online_softmax"),
        ("h200", "float32", "online_softmax"),
        ("h200", "bfloat16", "online_softmax"),
        ("a100", "float32", "online_softmax"),
        ("rtx3090", "float32", "fused_softmax"),
        ("a100", "float32", "oneflow"),
    ]


def test_recorded_rows_of_another_gpu_than_the_folders_are_refused(tmp_path):
    (tmp_path / "h100").mkdir()
    (tmp_path / "h100" / "online_softmax.csv").write_text("gpu_name,dtype\nNVIDIA H200,float32\n")
    with pytest.raises(ConfigError, match="short name is 'h200', in the folder of 'h100'"):
        sweep.figure_sets(DEFAULT, tmp_path, ROOT / "data/published")


def test_recorded_measures_nothing():
    assert sweep.gpu_names(overlay("recorded")) == []
    assert sweep.gpu_names(DEFAULT | {"gpus": ["h200", "recorded", "cpu", "h200"]}) == [
        "h200",
        "cpu",
    ]


def test_the_command_that_repeats_a_sweep(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    here = {"snakefile": ROOT / "Snakefile", "root": "."}
    lines = sweep.command([], {}, **here).splitlines()
    assert (lines[0], lines[-1]) == ("make run", "snakemake --cores all")
    lines = sweep.command([ROOT / "my sweeps/x.yaml"], {"seed": 7}, **here).splitlines()
    assert lines[-1] == "snakemake --cores all --configfile 'my sweeps/x.yaml' --config seed=7"
    (argument,) = [word for word in shlex.split(lines[0]) if word.startswith("ARGS=")]
    assert argument == "ARGS=--configfile 'my sweeps/x.yaml' --config seed=7"
    by_slurm = sweep.command([], {"gpus": "[a100, h200]"}, **here, on_cluster=True)
    assert by_slurm == "snakemake --workflow-profile profiles/slurm --config 'gpus=[a100, h200]'"
    # from another folder, and of a workflow that imports this one
    monkeypatch.chdir(tmp_path)
    there = {"snakefile": tmp_path / "a b/Snakefile", "root": "a b"}
    assert sweep.command([], {}, **there) == "snakemake --snakefile 'a b/Snakefile' --cores all"
    imported = sweep.command([], {}, snakefile=tmp_path / "Snakefile", root="softmax-bench")
    assert imported == "snakemake --cores all"


@pytest.mark.parametrize("prefix", ["", "bench/", "../a/b/"])
def test_the_folder_of_all_rows(prefix):
    assert sweep.cells(prefix + sweep.ROW) == Path(prefix, "results/cells")


def test_a_machine_says_what_it_lacks(monkeypatch):
    monkeypatch.setattr(machine.gpus, "visible", lambda: ["h200"])
    monkeypatch.setattr(machine, "cannot_compile", lambda: None)
    assert machine.lacks({"h200", "cpu"}) is None
    assert re.match(r"this machine cannot measure a100: it has h200\.", machine.lacks({"a100"}))
    monkeypatch.setattr(machine.gpus, "visible", lambda: [])
    assert "it has no GPU" in machine.lacks({"a100"})


def test_a_folder_is_the_same_until_its_code_changes(tmp_path):
    for name in ("one", "two"):
        shutil.copytree(ROOT / "workflow", tmp_path / name)
    before = sweep.code_sha256(tmp_path / "one")
    assert before == sweep.code_sha256(tmp_path / "two")
    (tmp_path / "two" / "sweep.py").write_text("changed = True\n")
    sweep.code_sha256.cache_clear()
    assert before != sweep.code_sha256(tmp_path / "two")


def test_a_point_survives_its_way_through_the_command_line():
    config = DEFAULT | {"shapes": [{"M": 4, "N": 8}], "rival": "torch_naive", "seed": 5}
    for point in sweep.points(config, "h200"):
        words = ["point", *sweep.options(point), "--output", "row.csv"]
        given = vars(command_line.parser().parse_args(words))
        for other in ("command", "output", "served_for"):
            del given[other]
        assert Point(**given) == point


def test_a_gpu_needs_a_compiler_and_headers(monkeypatch, tmp_path):
    monkeypatch.setattr(machine.gpus, "visible", lambda: ["h200"])
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "a C compiler" in machine.lacks({"h200"})
    assert machine.lacks({"cpu"}) is None
    (tmp_path / "gcc").write_text("#!/bin/sh\n")
    (tmp_path / "gcc").chmod(0o755)
    monkeypatch.setattr(machine.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    assert "python3-dev" in machine.lacks({"h200"})
    (tmp_path / "Python.h").write_text("")
    assert machine.lacks({"h200"}) is None
