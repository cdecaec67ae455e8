"""The table and the figure of A/A ratios, from made-up ones."""

import pandas as pd
import pytest

from studies import aa_bias

pytestmark = pytest.mark.slow  # an experiment that no sweep runs


@pytest.fixture
def data():
    """Two processes; the first step is 2 % off in both, the others hit 1 in one of two."""
    lines = []
    for process in range(2):
        for step, *_ in aa_bias.STEPS:
            ratio = 1.02 if step == aa_bias.STEPS[0][0] else 1.0 + 0.001 * process
            low, high = ratio - 0.0005, ratio + 0.0005
            lines.append((step, 1024, 256, process, 2.9, ratio, low, high))
    return pd.DataFrame(lines, columns=aa_bias.COLUMNS)


def test_the_table_has_every_step_in_order(data):
    lines = aa_bias.table(data).splitlines()[2:]
    assert [line.split(" | ")[2] for line in lines] == [name for name, *_ in aa_bias.STEPS]
    assert lines[0].endswith("| 2.00 % | 2.00 % | 100 % |")
    assert lines[1].endswith("| 0.05 % | 0.10 % | 50 % |")


def test_the_figure_is_drawn(data, tmp_path):
    aa_bias.draw(data, tmp_path / "aa.png")
    assert (tmp_path / "aa.png").read_bytes().startswith(b"\x89PNG")
