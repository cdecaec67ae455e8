"""The grid of M and N: cells name who wins and by how much, or that nobody raced."""

import pandas as pd
import pytest

from analysis import grid, ranking
from tests.analysis.synthetic import frame_of, ranked, with_speedups


def grid_of(rows):
    """The only grid of these rows."""
    (only,) = grid.grids(ranking.over_sweeps(ranked(rows))).values()
    return only


def cell(speeds, sizes=(1024,), **columns):
    """The only cell of the grid of these rows."""
    rows = with_speedups(speeds, sizes, **columns)
    ((only_cell,),) = grid_of(rows).to_numpy()
    return only_cell


def test_a_lead_is_the_speed_over_the_second_best_not_over_torch():
    race = cell({"frontier": 3.0, "peer_quack": 2.4, "peer_liger": 2.0})
    assert (race.kernel, race.lead, race.shade) == ("frontier", "1.25", "lead2")
    assert race.example == "1024x1024"
    assert "the next (peer_quack)" in race.summary


def test_a_tie_has_no_lead():
    race = cell({"frontier": 2.0, "peer_quack": 1.995, "peer_liger": 1.5})
    assert (race.lead, race.shade) == ("tie", "tie")
    assert "frontier ties with peer_quack" in race.summary


def test_without_a_rival_besides_torch_no_kernel_is_named():
    race = cell({"frontier": 2.0})
    assert (race.kernel, race.shade) == ("", "alone")
    assert "no rival besides torch was timed" in race.summary


def test_a_cell_has_the_sizes_up_to_the_next_power_of_four():
    speeds = {"frontier": 2.0, "peer_quack": 1.0}
    race = cell(speeds, [1024, 2000, 4095])
    assert "3 sizes such as" in race.summary
    assert race.lead == "2.00"
    only = grid_of(with_speedups(speeds, [1023, 1024, 2**21]))
    assert [*map(grid.label, only)] == ["256", "1K", "1M"]
    assert [*map(grid.label, only.index)] == ["1K"]


def test_a_gpu_with_recorded_and_measured_rows_loses_neither():
    frames = [
        frame_of(with_speedups({"frontier": 2.0, "peer_quack": 1.0}, [n]), origin=origin)
        for n, origin in ((256, "recorded"), (4096, "measured"))
    ]
    ranks = ranking.rank_variants(pd.concat(frames, ignore_index=True))
    (only,) = grid.grids(ranking.over_sweeps(ranks)).values()
    assert [*map(grid.label, only)] == ["256", "4K"]


@pytest.mark.parametrize(("rival", "shade"), [(1.8, "lead1"), (1.2, "lead3")])
def test_the_shade_follows_the_lead(rival, shade):
    assert cell({"frontier": 2.0, "peer_quack": rival}).shade == shade


def test_the_text_of_a_grid_says_all_that_its_cells_say():
    rows = [
        *with_speedups({"frontier": 3.0, "peer_quack": 2.0}, [256]),
        *with_speedups({"frontier": 2.0, "peer_quack": 2.0}, [1024]),
        *with_speedups({"frontier": 2.0}, [4096]),
    ]
    (line,) = grid_of(rows).map(str).to_numpy().tolist()
    assert line == ["frontier 1.50x", "frontier tie", "no rival"]
