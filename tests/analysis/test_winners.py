"""One ranking for each size: which rows it counts, and where it names a winner."""

import pandas as pd
import pytest

from analysis import claims, ranking
from analysis.claims.reproduction import NO_DATA
from analysis.report import trust
from analysis.stats import spread
from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of, ranked, with_speedups


def test_a_process_of_two_sweeps_counts_once():
    """Sweeps may list the same rows, which then say no more than one of them does."""
    rows = [
        synthetic.with_speedup(value * (1 + 0.01 * i), variant=name, replicate=i)
        for name, value in {"a": 1.5, "b": 1.45, "torch_softmax": 1.0}.items()
        for i in (1, 2, 3)
    ]
    alone = ranking.rank_variants(frame_of(rows, sweep="one"))
    twice = pd.concat([frame_of(rows, sweep="one"), frame_of(rows[:6], sweep="two")])
    table = ranking.rank_variants(twice.reset_index(drop=True))
    assert len(table) == 5
    for _, part in table.groupby("sweep"):
        part = part.set_index("variant")[ranking.RANK_COLUMNS]
        expected = alone.set_index("variant")[ranking.RANK_COLUMNS]
        pd.testing.assert_frame_equal(part, expected.loc[part.index])
    aa = [len(spread.aa_controls(part)) for part in (twice, frame_of(rows))]
    assert aa == [9, 9]
    pd.testing.assert_frame_equal(
        ranking.over_sweeps(table)[ranking.CARRIED], ranking.over_sweeps(alone)[ranking.CARRIED]
    )


NEW = {"torch": "2.13.0", "started_at": "2026-12-01T10:00:00Z"}


@pytest.mark.parametrize(
    "change",
    [
        {"torch": "2.13.0"},
        {"driver": "590.1"},
        {"triton": "3.8.0"},
        {"cuda": "13.1"},
        {"gpu_name": "NVIDIA H200 NVL"},
        {"native_overrides": "absent"},
        {"switches": "PYTORCH_NO_CUDA_MEMORY_CACHING=1"},
    ],
)
@pytest.mark.parametrize("sweeps", [("one", "one"), ("one", "two")])
def test_of_two_environments_with_as_many_rows_at_a_size_the_newest_ranks(sweeps, change):
    """8.0 µs beside a torch of 12 µs is faster than 10.0 µs beside one of 20 µs."""
    newer = change | {"started_at": NEW["started_at"]}
    old = synthetic.with_speedup(2.0, variant="frontier", time_us=10.0, torch_us=20.0)
    new = synthetic.with_speedup(1.5, variant="triton_row", time_us=8.0, torch_us=12.0, **newer)
    if sweeps[0] == sweeps[1]:
        rows = frame_of([old, new])
    else:
        rows = pd.concat([frame_of([old], "one"), frame_of([new], "two")], ignore_index=True)
    table = ranking.rank_variants(rows).set_index("variant")
    assert table["rank"].dropna().to_dict() == {"triton_row": 1}
    assert table["unranked_by"].to_dict() == {"frontier": "other_environment", "triton_row": ""}
    assert table.loc["frontier", "status"] == "ok"


def test_the_environment_of_most_rows_ranks_and_trust_counts_the_others():
    days = {"a": ("2.13.0", "2026-11-01"), "b": ("2.11.0", "2026-12-05")}
    days |= {"c": ("2.13.0", "2026-12-03")}
    speeds = [(name, {"torch": v, "started_at": day}) for name, (v, day) in days.items()]
    rows = [row for name, columns in speeds for row in with_speedups({name: 1.5}, **columns)]
    rows += with_speedups({"d": 9.0}, flags="faster_than_roofline", **speeds[-1][1])
    frame = frame_of(rows)
    assert frame.loc[frame["ranked"] == "true", "variant"].tolist() == ["a", "c"]
    (flags,) = (line for line in trust.controls(frame) if line.title == "Flags")
    assert "1 row left out of the ranking: 1 (more than 2 % faster than its roofline" in flags.text
    assert "1 row: left out of the ranking, because the GPU model" in flags.text


def test_one_kernel_measured_again_under_another_torch_does_not_displace_its_rivals():
    rows = with_speedups({"a": 2.0, "b": 1.5, "c": 1.2})
    table = ranked([*rows, *with_speedups({"d": 3.0}, replicate=1, **NEW)])
    assert table.set_index("variant")["rank"].dropna().to_dict() == {"a": 1, "b": 2, "c": 3}
    assert table.set_index("variant").loc["d", "unranked_by"] == "other_environment"


@pytest.mark.parametrize(("environment", "decided"), [({}, True), (NEW, False)])
def test_a_claim_compares_no_rows_of_two_environments(tables, environment, decided):
    """The newer rows were measured beside another torch, over which 1.2 and 1.0 say nothing."""
    sizes = synthetic.ONLINE_SIZES
    rows = with_speedups({"triton_online": 1.2, "torch_softmax": 1.0}, sizes)
    rows += with_speedups({"triton_online_nocache": 1.0}, sizes, **environment)
    checked = claims.check(frame_of(rows), tables)
    verdicts = checked.loc[(checked["claim"] == "S0-d") & (checked["gpu"] == "h200"), "verdict"]
    assert (verdicts != NO_DATA).any() == decided


def test_of_two_codes_of_a_variant_the_newest_ranks():
    later = {"kernel_sha256": "2", "started_at": NEW["started_at"], "replicate": 2}
    rows = with_speedups({"a": 2.0, "b": 1.0}, kernel_sha256="1")
    (newer,) = with_speedups({"a": 1.5}, **later)
    table = ranked([*rows, newer]).set_index("variant")
    assert table["speedup"].round(3).to_dict() == {"a": 1.5, "b": 1.0}
    assert table["processes"].to_dict() == {"a": 1, "b": 1}
    frames = [frame_of(rows, "one"), frame_of([newer], "two")]
    table = ranking.over_sweeps(ranking.rank_variants(pd.concat(frames, ignore_index=True)))
    assert table.set_index("variant")["speedup"].round(3).to_dict() == {"a": 1.5, "b": 1.0}


def test_a_kernel_that_is_wrong_in_one_sweep_ranks_in_none():
    wrong = frame_of([synthetic.row(variant="a", N=65536, status="incorrect")], "one")
    right = frame_of(with_speedups({"a": 2.0, "b": 1.0}), "two")
    table = ranking.rank_variants(pd.concat([wrong, right], ignore_index=True))
    assert table.loc[table["rank"].notna(), "variant"].tolist() == ["b"]


TORCH = "torch_softmax"
USUAL = {"a": 2.0, "b": 1.5, TORCH: 1.0}


@pytest.mark.parametrize(
    ("speeds", "failed", "no_winner"),
    [
        ({"a": 2.0, "b": 1.5}, "", ""),
        ({"a": 2.0, TORCH: 1.0}, "", ranking.NO_RIVAL),
        ({"a": 2.0}, "", ranking.NO_RIVAL),
        ({"frontier": 2.0, "frontier_triton": 1.5}, "", ranking.NO_RIVAL),  # its own fallback
        ({TORCH: 1.0}, "", ranking.NOTHING_ELSE),
        ({"a": 0.5, TORCH: 1.0}, "", ""),  # torch has beaten another
        ({"b": 1.5, "c": 1.2}, "", "a, the usual winner, was not timed"),
        ({"b": 1.5, "c": 1.2}, "unavailable", "a, the usual winner, was not timed"),
        ({"b": 1.5, "c": 1.2}, "unsupported", ""),  # it has lost
    ],
)
def test_a_winner_has_beaten_others_than_torch_and_the_usual_winner(speeds, failed, no_winner):
    rows = with_speedups(USUAL, [64, 128, 256]) + with_speedups(speeds, [512])
    rows += [synthetic.row(variant="a", N=512, status=failed)] if failed else []
    table = ranked(rows)
    usual, asked = table[table["N"] < 512], table[(table["N"] == 512) & table["rank"].notna()]
    assert usual.loc[usual["in_best_set"], "variant"].tolist() == ["a"] * 3
    assert set(asked["no_winner"]) == {no_winner}
    assert asked["in_best_set"].any() == (no_winner == "")
    fastest = max(speeds, key=speeds.get)
    assert asked.loc[asked["rank"] == 1, "variant"].tolist() == [fastest]


def test_the_usual_winner_is_that_of_the_gpu_the_operation_and_the_dtype():
    """`a` wins in float32 on one GPU, which says nothing about the others."""
    rows = with_speedups(USUAL, [8192, 65536])
    for change in ({"dtype": "float16"}, {"op": "log_softmax"}, {"gpu": "a100"}):
        rows += with_speedups({"b": 1.5, "c": 1.2}, [65536], **change)
    table = ranked(rows)
    assert set(table["no_winner"]) == {""}
    assert table.loc[table["in_best_set"], "variant"].tolist() == ["a", "a", "b", "b", "b"]


def test_a_size_names_who_was_timed_and_who_was_not_and_why():
    rows = with_speedups({"frontier": 2.0, "triton_row": 1.5, TORCH: 1.0}, [64])
    rows += with_speedups({"triton_fused": 3.0}, [64], flags="aa_biased")
    rows += [synthetic.row(variant="peer_quack", N=64, status="unavailable")]
    table = ranked(rows)
    assert set(table["timed"]) == {f"frontier triton_row {TORCH}"}
    (absent,) = {*table["not_timed"]}
    assert {"triton_fused (aa_biased)", "peer_quack (unavailable)", "peer_liger (no row)"} <= {
        *absent.split("; ")
    }
    assert not any(name in absent for name in ("frontier", "triton_row", "torch_softmax"))


def test_the_summary_and_the_ranking_over_sweeps_name_the_same_winner():
    """One sweep on two boards: that with most rows has no rival of torch, and the other one has."""
    rows = with_speedups({"torch_jit": 0.4, "torch_naive": 0.3, TORCH: 1.0})
    rows += with_speedups({"a": 1.4, "b": 1.2}, gpu_uuid="GPU-2")
    alone = with_speedups({"b": 1.2, TORCH: 1.0}, [512])
    frame = frame_of([*rows, *alone])
    summary = ranking.summarise(frame)
    named = summary[summary["in_best_set"]]
    assert named[["N", "variant"]].to_numpy().tolist() == [[65536, "a"]]
    sizes = ranking.over_sweeps(ranking.rank_variants(frame)).set_index(["N", "variant"])
    assert sizes.index[sizes["in_best_set"]].tolist() == [(65536, "a")]
    first = sizes.loc[sizes["rank"] == 1, "no_winner"].to_dict()
    assert first == {(65536, "a"): "", (512, "b"): ranking.NO_RIVAL}
