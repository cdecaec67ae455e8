"""The best set in place of a winner, and what counts as a win."""

import pytest

from analysis import ranking
from tests.analysis import synthetic


def of(speeds, half=0.0005, sizes=(65536,), **given):
    """Rows of variants with such speed-ups at each size."""
    return [
        synthetic.with_speedup(value, half, variant=name, N=n, **given)
        for n in sizes
        for name, value in speeds.items()
    ]


SIZES = [2**i for i in range(13, 18)]


def table(measurements, *arguments, **given):
    found = ranking.ranked(measurements(of(*arguments, **given)))
    return found.sort_values("rank").set_index("variant")


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
    found = ranking.ranked(measurements(of(speeds, half, SIZES)))
    for _, part in found.groupby("N"):
        part = part.set_index("variant")
        assert bool(part.at["triton_online", "in_best_set"]) is tied
        assert part["competitors"].tolist() == [4] * 4
        behind = part.loc["triton_online", ["behind_best", "behind_low", "behind_high"]]
        assert behind.iloc[0] == pytest.approx(1.5 / second)
        assert behind.iloc[1] < behind.iloc[0] < behind.iloc[2]
    counts = ranking.win_tie_loss(found).loc["triton_row"].tolist()
    assert counts == ([0, 5, 0] if tied else [5, 0, 0])


def test_a_walkover_is_no_win(measurements):
    found = ranking.ranked(measurements(of({"triton_row": 1.5}, sizes=SIZES)))
    assert ranking.win_tie_loss(found).empty
    assert ranking.best_sets(found) == {n: [] for n in SIZES}


def test_variants_are_ranked_by_speed_up_not_by_time(measurements):
    rows = [
        synthetic.with_speedup(1.2, variant="triton_row", time_us=9),
        synthetic.with_speedup(1.5, variant="triton_online", time_us=10),
    ]
    found = ranking.summarise(measurements(rows))
    assert found["variant"].to_list() == ["triton_online", "triton_row"]


def test_without_a_speed_up_times_rank_and_nothing_is_significant(measurements):
    blank = {"speedup": "", "speedup_low": "", "speedup_high": ""}
    rows = [
        synthetic.with_speedup(1.2, variant="triton_row", time_us=9),
        synthetic.row(variant="triton_online", time_us=3) | blank,
    ]
    found = ranking.summarise(measurements(rows))
    assert found["variant"].to_list() == ["triton_online", "triton_row"]
    assert found["behind_best"].iloc[1] == pytest.approx(3)
    assert found["in_best_set"].all()


def test_what_differs_in_one_of_many_matrices_by_chance_is_not_significant(measurements):
    """p = 0.03 would do alone; of 40 matrices it is one that chance gives."""
    few = [synthetic.row(variant=v, N=65536 + i) for i in range(40) for v in ("a", "b")]
    found = ranking.ranked(measurements([r | {"speedup": "1.5"} for r in few]))
    half = (found["speedup_high"] / found["speedup"]).iloc[0]
    lucky = [
        r | {"speedup": str(1.5 * half**1.6 if (r["N"], r["variant"]) == ("65536", "a") else 1.5)}
        for r in few
    ]
    lucky = [r | {"speedup_low": r["speedup"], "speedup_high": r["speedup"]} for r in lucky]
    assert ranking.win_tie_loss(ranking.ranked(measurements(lucky)))["wins"].sum() == 0


def test_summary_file_reads_back(measurements, online_rows, tmp_path):
    frame = measurements(online_rows)
    ranking.write(frame, tmp_path / "s.csv")
    found, expected = ranking.read(tmp_path / "s.csv"), ranking.summarise(frame)
    assert found["in_best_set"].to_list() == expected["in_best_set"].to_list()
    for name in ("rank", "behind_best", "competitors", "processes"):
        assert found[name].to_list() == pytest.approx(expected[name].to_list(), nan_ok=True)
