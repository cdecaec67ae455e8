"""Which rows rank is the configuration's choice; a best set stands in place of a winner."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

from analysis import __main__ as cli
from analysis import frame, ranking, schema
from analysis.figures.heatmap import draw_speedup
from analysis.figures.lines import draw_over_n
from analysis.merge import collect, merge_rows
from analysis.panels import select
from tests.analysis import synthetic
from tests.analysis.synthetic import with_speedups

CONFIG = Path(__file__).resolve().parents[2] / "config.yaml"
THROTTLED, TOO_FAST = "launch_bound throttled", "aa_biased faster_than_copy"
FLAGS = {
    "torch_softmax": "",
    "triton_row": "launch_bound aa_biased",
    "triton_online": THROTTLED,
    "triton_fused": TOO_FAST,
}
EVERY = set(FLAGS)


@pytest.fixture
def some():
    """One point; the fastest are too fast, then throttled, then only warned of, then torch."""
    speeds = zip(FLAGS, (1.0, 1.2, 1.4, 9.0), strict=True)
    return [synthetic.with_speedup(v, variant=name, flags=FLAGS[name]) for name, v in speeds]


@pytest.mark.parametrize(
    ("unranked", "expected"),
    [
        (schema.UNRANKED, EVERY - {"triton_fused"}),
        (["throttled", "faster_than_copy"], {"torch_softmax", "triton_row"}),
        ([], EVERY),
    ],
)
def test_collected_rows_say_whether_they_rank(some, tmp_path, unranked, expected):
    merge_rows([synthetic.write_row(tmp_path, row) for row in some], "s", tmp_path / "h200.csv")
    assert collect([tmp_path / "h200.csv"], [], tmp_path / "all.csv", unranked) == 4
    found = frame.load(tmp_path / "all.csv")
    assert set(found["variant"][found["ranked"] == "true"]) == expected
    assert set(ranking.summarise(found).dropna(subset="rank")["variant"]) == expected


def test_figures_leave_it_out_and_name_the_flag(measurements, some, tables):
    def words(figure):
        return [figure._supxlabel.get_text(), *(t.get_text() for t in figure.axes[0].texts)]

    def select_with(unranked):
        found = ranking.rank_variants(measurements(some, unranked=unranked))
        return select(found, tables, "h200", "float32", "online_softmax")

    chosen = select_with(["throttled"])
    figure = draw_over_n(chosen, "time_us")
    assert "triton_online" not in {line.get_gid() for line in figure.axes[0].lines}
    note = words(figure)[0].replace("\n", " ")  # of several lines
    assert "without a time that counts: 1 not ranked (throttled)" in note
    assert "throttled" in words(draw_speedup(chosen))
    chosen = select_with(list(schema.flags()))
    figure = draw_over_n(chosen, "time_us")
    assert "triton_online" not in {line.get_gid() for line in figure.axes[0].lines}
    assert "not\nranked" in words(draw_speedup(chosen))
    chosen = select_with([])
    figure = draw_over_n(chosen, "time_us")
    assert "triton_fused" in {line.get_gid() for line in figure.axes[0].lines}
    assert not any("without a time" in text for text in words(figure))


def test_an_unknown_flag_is_refused(capsys):
    with pytest.raises(SystemExit):
        cli.main(["collect", "--unranked-flags", "thortled", "--output", "all.csv"])
    message = capsys.readouterr().err
    assert all(flag in message for flag in ("'thortled'", *schema.flags()))


def test_the_default_is_that_of_the_configuration():
    assert yaml.safe_load(CONFIG.read_text())["unranked_flags"] == list(schema.UNRANKED)
    assert set(schema.UNRANKED) <= set(schema.flags())


SIZES = [2**i for i in range(13, 18)]


@pytest.mark.parametrize(
    ("second", "half", "tied"),
    [
        (1.4, 0.0005, False),
        (1.49, 0.0005, True),  # significant, and less than 1 %
        (1.45, 0.2, True),  # more, and not significant
    ],
)
def test_the_best_set(measurements, second, half, tied):
    speeds = {"triton_row": 1.5, "triton_online": second, "torch_softmax": 1.0, "mine": 1.2}
    found = ranking.rank_variants(measurements(with_speedups(speeds, SIZES, half)))
    for _, part in found.groupby("N"):
        part = part.set_index("variant")
        assert bool(part.at["triton_online", "in_best_set"]) is tied
        assert part["competitors"].tolist() == [4] * 4
        behind = part.loc["triton_online", ["behind_best", "behind_low", "behind_high"]]
        assert behind.iloc[0] == pytest.approx(1.5 / second)
        assert behind.iloc[1] < behind.iloc[0] < behind.iloc[2]
    assert found.loc[found["variant"] == "triton_row", "in_best_set"].all()


def test_the_worst_status_of_the_replicates_is_that_of_the_variant(measurements):
    """A kernel that is wrong in one process of three is wrong, however fast the others are."""
    rows = [
        *with_speedups({"triton_row": 1.5, "torch_softmax": 1.0}),
        *with_speedups({"triton_row": 1.5}, replicate=2),
    ]
    fault = {"variant": "triton_row", "N": 65536, "message": "row 3 differs"}
    rows.append(synthetic.row(status="incorrect", replicate=3, **fault))
    found = ranking.summarise(measurements(rows)).set_index("variant")
    assert found.loc["triton_row", ["status", "message"]].tolist() == ["incorrect", "row 3 differs"]
    assert found["rank"].dropna().to_dict() == {"torch_softmax": 1}
    assert not found.loc["triton_row", "in_best_set"]
    assert found.loc["triton_row", "processes"] == 0
    rows.append(synthetic.row(status="crash", replicate=4, **fault | {"message": "signal 11"}))
    found = ranking.summarise(measurements(rows)).set_index("variant")
    assert found.loc["triton_row", ["status", "message"]].tolist() == ["crash", "signal 11"]


def test_variants_are_ranked_by_speed_up_not_by_time(measurements):
    rows = [
        synthetic.with_speedup(1.2, variant="triton_row", time_us=9),
        synthetic.with_speedup(1.5, variant="triton_online", time_us=10),
    ]
    found = ranking.summarise(measurements(rows))
    assert found["variant"].to_list() == ["triton_online", "triton_row"]


NO_SPEEDUP = {"speedup": "", "speedup_low": "", "speedup_high": ""}


def test_a_variant_without_a_speed_up_does_not_rank_and_the_others_do(measurements):
    rows = with_speedups({"triton_row": 1.5, "triton_fused": 1.2})
    lacking = synthetic.row(variant="triton_online", N=65536, time_us=3) | NO_SPEEDUP
    found = ranking.summarise(measurements([*rows, lacking])).set_index("variant")
    assert found.loc["triton_online", "unranked_by"] == "no_speedup"
    assert not found.loc["triton_online", "in_best_set"]
    alone = ranking.summarise(measurements(rows)).set_index("variant")
    assert found.loc[alone.index, ranking.RANK_COLUMNS].equals(alone[ranking.RANK_COLUMNS])
    assert alone["in_best_set"].to_dict() == {"triton_row": True, "triton_fused": False}


def test_where_no_variant_has_a_speed_up_times_rank_and_nothing_is_significant(measurements):
    times = {"triton_row": 9, "triton_online": 3}
    rows = [synthetic.row(variant=v, time_us=us) | NO_SPEEDUP for v, us in times.items()]
    found = ranking.summarise(measurements(rows))
    assert found["variant"].to_list() == ["triton_online", "triton_row"]
    assert found["behind_best"].iloc[1] == pytest.approx(3)
    assert found["in_best_set"].all()


def test_what_differs_in_one_of_many_matrices_by_chance_is_not_significant(measurements):
    """p = 0.03 would do alone; of 40 matrices it is one that chance gives."""
    few = [synthetic.row(variant=v, N=65536 + i) for i in range(40) for v in ("a", "b")]
    found = ranking.rank_variants(measurements([r | {"speedup": "1.5"} for r in few]))
    half = (found["speedup_high"] / found["speedup"]).iloc[0]
    lucky = [
        r | {"speedup": str(1.5 * half**1.6 if (r["N"], r["variant"]) == ("65536", "a") else 1.5)}
        for r in few
    ]
    lucky = [r | {"speedup_low": r["speedup"], "speedup_high": r["speedup"]} for r in lucky]
    assert ranking.rank_variants(measurements(lucky))["in_best_set"].all()


def test_summary_file_has_whole_ranks_and_words_for_booleans(measurements, online_rows, tmp_path):
    ranking.write(measurements(online_rows), tmp_path / "s.csv")
    first, *_, last = synthetic.read_csv(tmp_path / "s.csv")
    assert (first["rank"], first["in_best_set"], first["behind_low"]) == ("1", "true", "")
    assert last["in_best_set"] == "false"


def test_each_operation_has_its_own_ranking(both_operations):
    table = ranking.summarise(both_operations).set_index("op")
    best, second = table[table["rank"] == 1], table[table["rank"] == 2]
    assert best["variant"].to_dict() == {"softmax": "triton_row", "log_softmax": "triton_online"}
    assert second["behind_best"].to_dict() == pytest.approx(
        {"softmax": 1.5 / 1.2, "log_softmax": 1.4 / 1.1}
    )


def two_sweeps(measurements, first, second, board="GPU-2"):
    """Two sweeps of one size, each on its own board and with its own input."""
    frames = [measurements(with_speedups(first), sweep="one")]
    other = with_speedups(second, gpu_uuid=board, distribution="normal")
    return pd.concat([*frames, measurements(other, sweep="two")], ignore_index=True)


@pytest.mark.parametrize(
    ("second", "best"),
    [
        ({"triton_row": 1.5, "frontier": 1.8}, ["frontier"]),
        # 2 % on another board may be the board's
        ({"triton_row": 1.5, "frontier": 1.53}, ["frontier", "triton_row"]),
    ],
)
def test_a_size_has_one_ranking_over_all_sweeps(measurements, second, best):
    first = {"triton_row": 1.5, "triton_online": 1.2, "torch_softmax": 1.0}
    found = ranking.over_sweeps(ranking.rank_variants(two_sweeps(measurements, first, second)))
    found = found.sort_values("rank").set_index("variant")
    assert found.index[0] == "frontier"
    assert found["competitors"].tolist() == [4] * 4
    assert found.loc["triton_row", "sweep"] == "one two"
    assert found.index[found["in_best_set"]].tolist() == best


def test_a_variant_that_is_ahead_where_both_ran_is_not_called_slower(measurements):
    """`a` is first by another matrix, which `b` lacks."""
    first, second = {"a": 1.5, "b": 1.6}, {"a": 2.0, "torch_softmax": 1.0}
    found = ranking.over_sweeps(ranking.rank_variants(two_sweeps(measurements, first, second)))
    found = found.set_index("variant")
    assert found.loc["b", "behind_best"] < 1 < found.loc["torch_softmax", "behind_best"]
    assert found["in_best_set"].to_dict() == {"a": True, "b": True, "torch_softmax": False}


def test_variants_of_one_matrix_are_compared_within_it(measurements):
    """The second board is 10 % faster for both: that says nothing of one over the other."""
    first, second = {"a": 1.5, "b": 1.44}, {"a": 1.65, "b": 1.584}
    found = ranking.over_sweeps(ranking.rank_variants(two_sweeps(measurements, first, second)))
    behind = found.set_index("variant").loc["b"]
    assert behind["behind_best"] == pytest.approx(1.5 / 1.44, rel=1e-3)
    assert behind["behind_high"] - behind["behind_low"] < 0.03


def test_a_size_of_one_sweep_ranks_as_in_the_sweep(measurements, online_rows):
    table = ranking.rank_variants(measurements(online_rows))
    found = ranking.over_sweeps(table)
    columns = ["variant", "N", *ranking.RANK_COLUMNS]
    by = ["N", "rank"]
    expected = table[columns].sort_values(by).reset_index(drop=True)
    pd.testing.assert_frame_equal(found[columns].sort_values(by).reset_index(drop=True), expected)
