"""From a configuration to points, to files, to figure sets."""

import itertools
import os
import sys

import pytest
import yaml

from measure import ROOT
from measure.device import gpus
from measure.device.gpu_lock import assigned_gpu
from measure.fingerprint import fingerprint
from planning import points as planned
from planning.validate import ConfigError
from tests.planning.test_validate import DEFAULT


def overlay(name):
    return DEFAULT | yaml.safe_load((ROOT / f"sweeps/{name}.yaml").read_text(encoding="utf-8"))


def expand(gpu="h200", **change):
    """The points of the default sweep, or of what `change` makes of it."""
    return planned.expand(DEFAULT | change, gpu)


def test_on_a_cpu_large_matrices_and_long_interpreted_rows_are_left_out():
    every, on_gpu = expand("cpu"), expand()
    kept = planned.within_limits({"cpu": every, "h200": on_gpu})
    points = kept["cpu"]
    assert max(p.M * p.N for p in points) == planned.CPU_MAX_ELEMENTS
    assert max(p.N for p in points if p.interpreted) == planned.CPU_MAX_INTERPRETED_N
    left = len(every) - len(points)
    assert f"({left} left out" in planned.announce(DEFAULT, "cpu", every, points)
    assert kept["h200"] == on_gpu
    assert "left out" not in planned.announce(DEFAULT, "h200", on_gpu, on_gpu)


def test_the_points_of_shapes():
    for shapes, expected in (
        ([{"elements": 100, "N": [30, 200]}], [("float32", 3, 30), ("float32", 1, 200)]),
        ([{"M": 4, "N": 8, "dtypes": ["float16"]}], [("float16", 4, 8)]),
        ([{"M": 4, "N": {"from": 8, "to": 9, "step": 2}}], [("float32", 4, 8)]),
        ([{"M": 4, "N": [8, 8]}, {"M": [4, 4], "N": 8}], [("float32", 4, 8)]),  # once each
    ):
        points = expand(shapes=shapes, variants=["torch_softmax"])
        assert [(p.dtype, p.M, p.N) for p in points] == expected


def test_all_are_those_that_have_the_operation():
    points = expand(op="softmax_backward", variants="all")
    names = {"cuda_backward", "torch_softmax", "triton_backward"}
    assert {p.variant for p in points if p.N == 256} == names
    backward = planned.expand(overlay("softmax_backward"), "h200")
    assert {(p.op, p.variant) for p in backward} == {("softmax_backward", name) for name in names}


def test_points_of_a_matrix_are_measured_one_after_the_other_in_a_random_order():
    shapes = [{"M": 4, "N": [8, 9]}, {"M": 4, "N": 8, "variants": ["triton_online"]}]
    names = ["torch_softmax", "torch_naive", "torch_jit", "triton_row"]
    points = expand(shapes=shapes, variants=names, replicates=3)
    measured = planned.in_measuring_order(points, seed=1)
    assert [p.N for p in measured] == [8] * 15 + [9] * 12
    assert set(measured) == set(points)
    assert measured == planned.in_measuring_order(points, seed=1)
    for variant in names:  # the first replicate is the first one
        assert [p.replicate for p in measured[:15] if p.variant == variant] == [1, 2, 3]
    orders = (planned.in_measuring_order(points, seed)[:15] for seed in range(9))
    assert len({tuple(p.variant for p in order) for order in orders}) == 9


def test_matrices_of_several_boards_take_turns():
    """Or one board would wait until the matrices of another are measured."""
    boards = [gpus.VisibleGpu(f"GPU-{n}", "h200") for n in range(2)]
    points = expand(shapes=[{"M": 4, "N": list(range(1, 17))}], variants=["triton_row"])
    on = [assigned_gpu(point, boards) for point in planned.in_measuring_order(points, 1, boards)]
    fewest = min(on.count(board) for board in boards)
    assert fewest > 0
    assert all(on[2 * n] != on[2 * n + 1] for n in range(fewest))


def test_a_further_replicate_takes_the_row_of_the_first():
    first, second = expand(shapes=[{"M": 4, "N": 8}], variants=["triton_row"], replicates=2)
    folder = "results/rows/h200/softmax/float32/uniform/seed3407_blocks51/M4_N8"
    row = f"{folder}/triton_row.{fingerprint('triton_row', 'softmax')}"
    assert planned.row_path(second) == f"{row}.2.csv"
    assert planned.options(first) == []
    assert planned.options(second) == [f"--checked={row}.1.csv"]


@pytest.mark.parametrize(
    ("M", "N", "fault"),
    [
        (2**40, 2**40, "M·N = 1208925819614629174706176: at most"),
        (8, {"from": 1, "to": 2**59, "step": 1}, "576460752303423488 sizes from 1 to"),
        (list(range(1, 2000)), list(range(1, 2000)), "1999 M times 1999 N are more than 1000000"),
    ],
)
def test_sizes_that_no_machine_can_plan_or_hold_are_refused(M, N, fault):
    with pytest.raises(ConfigError, match=fault):
        expand(shapes=[{"M": M, "N": N}], variants=["triton_row"])


def test_nothing_to_measure_is_an_error():
    for shape, words in (
        ({"M": 2**20, "N": 2**20}, "nothing to measure on cpu: every point has more than 4194304"),
        ({"M": 4, "N": {"from": 9, "to": 8, "step": 1}}, "'to' is smaller"),
    ):
        with pytest.raises(ConfigError, match=words):
            planned.within_limits({"cpu": expand("cpu", shapes=[shape])})


def test_a_cpu_that_can_measure_nothing_costs_no_gpu_its_part():
    large = [{"M": 2**20, "N": 2**20}]
    expanded = {gpu: expand(gpu, shapes=large) for gpu in ("h200", "cpu")}
    kept = planned.within_limits(expanded)
    assert kept == {"h200": expanded["h200"]}
    count = len(expanded["cpu"])
    line = planned.announce(DEFAULT, "cpu", expanded["cpu"], [])
    assert f"on cpu: 0 points ({count} left out: too large for it" in line
    assert planned.within_limits({}) == {}


def test_another_operation_plans_the_variants_that_compute_it():
    """As the page suggests: op=softmax_backward for a sweep whose variants are named."""
    named = ["torch_softmax", "triton_fused", "triton_backward"]
    (shape,) = [{"M": 4, "N": 8}]
    points = expand(op="softmax_backward", variants=named, shapes=[shape])
    assert {point.variant for point in points} == {"torch_softmax", "triton_backward"}
    config = DEFAULT | {"op": "softmax_backward", "variants": named, "shapes": [shape]}
    line = planned.announce(config, "h200", points, points)
    assert line.endswith("2 points (triton_fused left out: no softmax_backward)")
    with pytest.raises(ConfigError, match=r"no variant of the sweep .* computes soft"):
        expand(op="softmax_backward", shapes=[shape | {"variants": ["triton_fused"]}])


def test_a_sweep_of_several_operations_plans_each_with_the_variants_that_compute_it():
    named = ["torch_softmax", "triton_fused", "triton_backward", "torch_logits"]
    change = {"op": ["softmax", "softmax_backward"], "variants": named}
    points = expand(**change, shapes=[{"M": 4, "N": 8}])
    pairs = {(point.op, point.variant) for point in points}
    assert pairs == {
        *(("softmax", name) for name in ("torch_softmax", "triton_fused")),
        *(("softmax_backward", name) for name in ("torch_softmax", "triton_backward")),
    }
    line = planned.announce(DEFAULT | change, "h200", points, points)
    assert line.endswith("(torch_logits left out: no softmax or softmax_backward)")


RANDOM = overlay("random")
PINNED = [("float32", 2178697, 121), ("float16", 2, 733861), ("bfloat16", 160, 1397)]


def drawn(**change):
    """The (dtype, M, N) of the random sweep, with changes of its entry or of its config."""
    entry = RANDOM["shapes"][0] | {key: change.pop(key) for key in {*change} - RANDOM.keys()}
    config = RANDOM | {"shapes": [entry], "variants": ["torch_softmax"]} | change
    return [(p.dtype, p.M, p.N) for p in planned.expand(config, "h200")]


def test_random_shapes_are_within_their_bounds_and_take_turns():
    shapes = drawn()
    assert len(shapes) == len(set(shapes)) == 90
    assert [dtype for dtype, _, _ in shapes] == RANDOM["dtypes"] * 30
    for _, M, N in shapes:
        assert 2**0 <= M <= 2**22
        assert 2**3 <= N <= 2**23
        assert 2**16 <= M * N <= 2**29
    for dtype in RANDOM["dtypes"]:
        sizes = [N for name, _, N in shapes if name == dtype]
        assert sum(N % 2 for N in sizes) == 10
        assert sum(N % 8 == 0 for N in sizes) >= 10
    # log-uniform: a size in every other power of two, and as many long rows as short ones
    assert len({N.bit_length() // 2 for _, _, N in shapes}) >= 9
    assert 30 <= sum(N < 2**12 for _, _, N in shapes) <= 60


def test_random_shapes_follow_from_the_seed_on_every_machine():
    assert drawn(seed=27)[:3] == PINNED
    assert drawn(random=7) == drawn()[:7]
    assert not set(drawn(seed=28)) & set(drawn())


def test_bounds_with_too_few_random_shapes_are_an_error():
    few = {"M": {"from": 1, "to": 2}, "N": {"from": 8, "to": 9}, "dtypes": ["float32"]}
    few["elements"] = {"from": 1, "to": 100}
    assert sorted(N for _, _, N in drawn(random=3, **few)) == [8, 8, 9]
    with pytest.raises(ConfigError, match=r"only 0 of 90 shapes found with M from 1 to 2, "):
        drawn(**few | {"elements": {"from": 100, "to": 1}})


def test_a_timed_cpu_is_alone_and_everything_else_takes_one_core():
    variants = ["torch_jit", "triton_row", "cuda_oneflow"]
    for gpu, cores in (("cpu", os.cpu_count()), ("h200", 1)):
        points = expand(gpu, shapes=[{"M": 4, "N": 8}], variants=variants)
        assert [planned.threads(p) for p in points] == [cores, 1, 1]


def test_recorded_measures_nothing():
    assert planned.gpu_names(overlay("recorded")) == []
    names = ["h200", "recorded", "cpu", "h200"]
    assert planned.gpu_names(DEFAULT | {"gpus": names}) == ["h200", "cpu"]


def test_without_the_package_that_finds_gpus_none_can_be_auto(monkeypatch, tmp_path):
    monkeypatch.setattr(gpus, "CONTROL_DEVICE", tmp_path)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(ConfigError, match="gpus: gpu 'auto': pip install nvidia-ml-py"):
        planned.gpu_names(DEFAULT)


def test_the_command_that_repeats_a_sweep(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    assert planned.reproduce_command([], {}, ROOT) == "snakemake --cores all"
    assert planned.reproduce_command([ROOT / "sweeps/recorded.yaml"], {}, ROOT) == "make report"
    overrides = {"seed": 7, "op": "softmax", "gpus": ["cpu", "h200"]}
    command = planned.reproduce_command([ROOT / "my sweeps/x.yaml"], overrides, ROOT)
    options = "--configfile 'my sweeps/x.yaml' --config seed=7 op=softmax 'gpus=[cpu, h200]'"
    assert command == f"snakemake --cores all {options}"
    monkeypatch.chdir(tmp_path)
    there = planned.reproduce_command([], {}, tmp_path / "a b")
    assert there == "snakemake --snakefile 'a b/Snakefile' --cores all"


# The variants that this project offers for an operation.
OWN = ("frontier", "frontier_logits", "cuda_backward", "triton_backward")
UNRANKED = ("smoke", "recorded")  # a check, and a sweep that measures nothing


@pytest.mark.parametrize(
    "sweep", sorted({path.stem for path in (ROOT / "sweeps").glob("*.yaml")} - {*UNRANKED})
)
def test_every_sweep_that_ranks_kernels_has_that_of_this_project(sweep):
    """A winner without it would be an artefact of who was invited.

    A size is ranked over all sweeps: `frontier` has that of the claim in online_softmax.
    """
    timed = {}
    sweeps = (planned.expand(overlay(name), "h200") for name in {sweep, "frontier"})
    for point in itertools.chain(*sweeps):
        timed.setdefault((point.op, point.dtype, point.M, point.N), set()).add(point.variant)
    assert [size for size, names in timed.items() if names.isdisjoint(OWN)] == []
