"""Which rows rank depends on their flags; a best set stands in place of a winner."""

import pandas as pd
import pytest

from analysis import frame, ranking, schema, stats
from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of, ranked, with_speedups
from tests.workflow.runner import read_csv

FLAGS = {
    "torch_softmax": "",
    "triton_row": "launch_bound not_cold",
    "triton_online": "launch_bound throttled",
    "triton_fused": "not_cold faster_than_roofline",
}


@pytest.fixture
def some():
    """One point; the fastest are too fast, then throttled, then only warned of, then torch."""
    speeds = zip(FLAGS, (1.0, 1.2, 1.4, 9.0), strict=True)
    return [synthetic.with_speedup(v, variant=name, flags=FLAGS[name]) for name, v in speeds]


def test_rows_say_whether_they_rank(some):
    marked, expected = frame_of(some), set(FLAGS) - {"triton_fused"}
    assert set(marked["variant"][marked["ranked"] == "true"]) == expected
    assert set(ranking.summarise(marked).dropna(subset="rank")["variant"]) == expected


SIZES = [2**i for i in range(13, 18)]


@pytest.mark.parametrize(
    ("second", "half", "tied"),
    [
        (1.4, 0.0005, False),
        (1.49, 0.0005, True),  # significant, and less than 1 %
        (1.45, 0.2, True),  # more, and not significant
    ],
)
def test_the_best_set(second, half, tied):
    speeds = {"triton_row": 1.5, "triton_online": second, "torch_softmax": 1.0, "mine": 1.2}
    table = ranked(with_speedups(speeds, SIZES, half))
    for _, part in table.groupby("N"):
        part = part.set_index("variant")
        assert bool(part.at["triton_online", "in_best_set"]) is tied
        assert part["competitors"].tolist() == [4] * 4
        assert sorted(part["rank"]) == [1, 2, 3, 4]
        behind = part.loc["triton_online", ["behind_best", "behind_low", "behind_high"]]
        assert behind.iloc[0] == pytest.approx(1.5 / second)
        assert behind.iloc[1] < behind.iloc[0] < behind.iloc[2]
    assert table.loc[table["variant"] == "triton_row", "in_best_set"].all()


@pytest.mark.parametrize(
    ("statuses", "expected", "ranks"),
    [
        (("ok", "incorrect"), "incorrect", False),
        (("ok", "crash"), "crash", False),
        (("timeout", "incorrect"), "incorrect", False),
        (("crash", "incorrect"), "incorrect", False),
        (("timeout", "crash"), "crash", False),
        (("ok", "out_of_memory", "ok"), "ok", True),
        (("timeout", "ok"), "ok", True),
        (("unavailable", "ok"), "ok", True),
        (("unavailable", "timeout"), "timeout", False),
    ],
)
def test_the_most_severe_status_counts_but_for_what_the_machine_lacked(statuses, expected, ranks):
    rows = [
        synthetic.row(status=status, replicate=number) for number, status in enumerate(statuses, 1)
    ]
    (point,) = ranked(rows).to_dict("records")
    assert (point["status"], point["processes"]) == (expected, ranks * statuses.count("ok"))
    assert (frame.mark(point["flags"]) == "§") == ranks
    assert (point["rank"] == 1) == ranks


def test_every_status_and_flag_of_a_row_has_a_fate():
    assert sorted(schema.SEVERITY) == sorted(schema.SCHEMA["status"].allowed)
    assert set(schema.TRANSIENT) < set(schema.SEVERITY)
    assert tuple(schema.FLAGS) == schema.SCHEMA["flags"].allowed
    assert set(schema.MARK_OF.values()) - {""} == set(schema.MARKS)
    unmarked = {name for name, flag in schema.FLAGS.items() if flag.ranks and not flag.mark}
    assert unmarked == {"launch_bound"}, "the time is the kernel's all the same"


def test_what_differs_in_one_of_many_matrices_by_chance_is_not_significant():
    even = [(v, 65536 + i, 1.5) for i in range(40) for v in ("a", "b")]
    lucky = [("a", 65536, 1.6), *even[1:]]
    table = ranked(synthetic.with_speedup(x, 0.05, variant=v, N=n) for v, n, x in lucky)
    first, second = map(stats.estimate, table[table["N"] == 65536].to_dict("records"))
    assert first.over(second).p_beyond(stats.TIE) < 0.02, "enough of a single matrix"
    assert table["in_best_set"].all()


def test_summary_file_has_whole_ranks_and_words_for_booleans(tmp_path):
    ranking.write(frame_of(synthetic.sweep_rows()), tmp_path / "s.csv")
    first, *_, last = read_csv(tmp_path / "s.csv")
    assert (first["rank"], first["in_best_set"], first["behind_low"]) == ("1", "true", "")
    assert last["in_best_set"] == "false"


def over_two_sweeps(first, second):
    """One size in two sweeps, each on its own board and with its own input, by variant."""
    rows = with_speedups(second, gpu_uuid="GPU-2", distribution="normal")
    frames = [frame_of(with_speedups(first), sweep="one"), frame_of(rows, sweep="two")]
    table = ranking.rank_variants(pd.concat(frames, ignore_index=True))
    return ranking.over_sweeps(table).sort_values("rank").set_index("variant")


def test_a_size_has_one_ranking_over_all_sweeps():
    first = {"triton_row": 1.5, "triton_online": 1.2, "torch_softmax": 1.0}
    # 2 % on another board may be the board's
    for value, best in ((1.8, ["frontier"]), (1.53, ["frontier", "triton_row"])):
        table = over_two_sweeps(first, {"triton_row": 1.5, "frontier": value})
        assert table.index[0] == "frontier"
        assert table["competitors"].tolist() == [4] * 4
        assert table.loc["triton_row", "sweep"] == "one two"
        low, value, high = table.loc["triton_row", ["speedup_low", "speedup", "speedup_high"]]
        alone = ranked(with_speedups({"triton_row": 1.5})).iloc[0]
        assert low <= alone["speedup_low"] < value < alone["speedup_high"] <= high
        assert table.index[table["in_best_set"]].tolist() == best
    apart = over_two_sweeps({"a": 1.5}, {"b": 1.6}).loc["a"]
    assert apart["behind_low"] < 1.02, "without a common matrix sweeps differ by 2 %"


def test_a_variant_that_is_ahead_where_both_ran_is_not_called_slower():
    """`a` is first by another matrix, which `b` lacks."""
    table = over_two_sweeps({"a": 1.5, "b": 1.6}, {"a": 2.0, "torch_softmax": 1.0})
    assert table.loc["b", "behind_best"] < 1 < table.loc["torch_softmax", "behind_best"]
    assert table["in_best_set"].to_dict() == {"a": True, "b": True, "torch_softmax": False}


def test_variants_of_one_matrix_are_compared_within_it():
    """The second board is 10 % faster for both: that says nothing of one over the other."""
    behind = over_two_sweeps({"a": 1.5, "b": 1.44}, {"a": 1.65, "b": 1.584}).loc["b"]
    assert behind["behind_best"] == pytest.approx(1.5 / 1.44, rel=1e-3)
    assert behind["behind_high"] - behind["behind_low"] < 0.03


def test_a_lead_is_over_the_fastest_other_variant_and_torch_needs_no_row_to_be_it():
    speeds = [(1.3, 0.9), (1.005, 0.9), (1.32, 1.2), (1.2, 1.203)]
    rows = with_speedups({"b": 2.0}, [2**20])
    for n, (a, b) in enumerate(speeds, start=65536):
        rows += with_speedups({"a": a, "b": b}, [n])
    sizes = ranking.over_sweeps(ranked(rows))
    leads = ranking.leads(sizes, "a")
    assert leads["lead"].tolist() == pytest.approx([1.3, 1.005, 1.1, 1.2 / 1.203])
    assert leads["rival"].tolist() == ["torch_softmax", "torch_softmax", "b", "b"]
    assert leads["tie"].tolist() == [False, True, False, True]
    over_kernels = ranking.leads(sizes, "a", against_torch=False)
    assert over_kernels["rival"].tolist() == ["b"] * 4
    assert over_kernels["lead"].iloc[0] == pytest.approx(1.3 / 0.9)
