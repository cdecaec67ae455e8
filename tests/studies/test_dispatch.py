"""The rule by which ``frontier`` chooses, against recorded timings."""

from pathlib import Path

import pytest
import torch

from kernels import split_config
from kernels.contract import VEC_BYTES
from kernels.cuda.plan import GPUS, Problem, widest_pack
from kernels.frontier import frontier
from studies import dispatch

KIB, LONGEST = 2**10, 1.3 * 2**20  # bytes; no cluster holds a longer row


@pytest.fixture(scope="module", params=dispatch.GPUS)
def recorded(request):
    return dispatch.load(Path(f"studies/data/{request.param}/dispatch.csv.gz"))


def test_one_rule_loses_little_on_both_gpus_against_the_best_config(recorded):
    loss = dispatch.losses(recorded)[dispatch.CONFIGS]
    elements = loss.index.get_level_values("M") * loss.index.get_level_values("N")
    large, small = loss[elements > 2**22], loss[elements <= 2**18]
    assert large.mean() < 0.01
    assert (large > 0.04).mean() < 0.08
    # The best config of few rows is another than that of many, but M must not choose.
    assert small.mean() < 0.05


@pytest.mark.parametrize("gpu", dispatch.GPUS)
@pytest.mark.parametrize(("shapes", "least"), [("peers", 0.87), ("unseen", 0.90)])
def test_no_gpu_is_far_behind_the_best_peer_at_random_shapes(shapes, least, gpu):
    """A rule fitted to one GPU alone was up to 21 % behind on the other, and nobody saw it."""
    loss = dispatch.losses(dispatch.load(Path(f"studies/data/{gpu}/{shapes}.csv.gz")))
    random = loss[dispatch.PEERS].loc["random"]
    assert (random <= 0.01).mean() >= least
    assert (random <= 0.04).mean() >= 0.97
    asked = loss.get(dispatch.FAIR_PEERS, loss[dispatch.PEERS]).loc["asked"]
    assert (asked <= 0.04).mean() >= 0.97


def test_all_that_the_rule_names_was_timed(recorded):
    named = {variant for entries in frontier.RULE.values() for _, variant in entries}
    assert named <= set(recorded)


def clusters(
    variant: str, shortest: float, longest: float, aligned: bool, itemsize: int
) -> set[int]:
    """Return the blocks of a cluster at all lengths that an entry may have."""
    # a config's cluster changes at no other lengths
    steps = range(int(shortest // KIB), int(min(longest, LONGEST) // KIB) + 1)
    row_bytes = [KIB * step + beyond for step in steps for beyond in (0, VEC_BYTES)]
    lengths = [n // itemsize - (not aligned) for n in row_bytes if shortest < n <= longest]
    return {blocks_of(variant, cols, itemsize) for cols in lengths} - {0}


def blocks_of(variant: str, cols: int, itemsize: int) -> int:
    """Return the blocks of a cluster that a variant gives a row; 0 if it refuses the row."""
    stem, config = split_config(variant)
    dtype = torch.float32 if itemsize == 4 else torch.bfloat16
    pack = widest_pack(itemsize, 0, cols)
    plans = frontier.PARTS[stem].plan(Problem(dtype, 64, cols, pack, False, GPUS["sm_90"]), config)
    return plans[0].cluster if plans else 0


def test_each_cluster_that_the_rule_gives_was_timed_at_such_rows():
    """Just beyond 32 KiB a cluster of 8 took half as long again as one of 4, and no row told."""
    shapes = {shape for path in dispatch.DATA for shape in dispatch.load(path).index}
    for (aligned, itemsize), entries in frontier.RULE.items():
        part = {N for _, dtype, _, N in shapes if dispatch.DTYPES[dtype] == itemsize}
        part = {N for N in part if (N * itemsize % VEC_BYTES == 0) == aligned}
        shortest = 0
        for longest, variant in entries:
            timed = {N for N in part if shortest < N * itemsize <= longest}
            found = {blocks_of(variant, N, itemsize) for N in timed}
            given = clusters(variant, shortest, longest, aligned, itemsize)
            assert given <= found, (variant, shortest, longest)
            shortest = longest


def test_a_table_has_the_share_of_shapes_within_each_limit(tmp_path, capsys):
    """The first choice refuses every second shape, so the last resort takes it."""
    lines = ["kind,dtype,M,N,variant,us"]
    for N in (4, 8, 12, 16):
        first, *_, last = frontier.choices(N, 4)
        times = {last: 2.0, "peer_liger": 4.0} | ({first: 1.0} if N % 8 else {})
        lines += [f"random,float32,8,{N},{name},{us}" for name, us in times.items()]
        lines.append(f"random,float32,8,{N},frontier_other,1.0")
    (tmp_path / "times.csv").write_text("\n".join(lines), encoding="utf-8")
    dispatch.main([str(tmp_path / "times.csv")])
    said = capsys.readouterr().out
    assert (
        "| random | the best config | 4 | 50 % | 50 % | 50 % | 100.0 % | 8x8 in float32 |" in said
    )
    assert (
        "| random | the best peer | 4 | 100 % | 100 % | 100 % | -50.0 % | 8x8 in float32 |" in said
    )
