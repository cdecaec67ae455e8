"""How M goes with N, in words."""

import pandas as pd
import pytest

from analysis import panels
from analysis.figures.heatmap import draw_speedup
from analysis.panels import select
from tests.analysis import oneflow_rows as oneflow


def frame(m_of_n):
    return pd.DataFrame([{"M": m, "N": n} for n, m in m_of_n.items()])


@pytest.mark.parametrize(
    ("m_of_n", "words"),
    [
        ({256: 1024, 512: 1024}, "M = 1024"),
        ({16: 32768, 512: 1048576}, "M = 2048·N"),
        ({128: 1024, 256: 512, 512: 256}, "M·N = 131,072"),
        (oneflow.WIDE, "M·N ≈ 100,663,296"),
        ({128: 1024, 256: 900}, "M = 900 to 1,024"),
        ({12160: 4096}, "M = 4096"),
    ],
)
def test_the_rule_behind_m(m_of_n, words):
    assert panels.describe_m(frame(m_of_n)) == words


@pytest.fixture(scope="module")
def wide(ranked, tables):
    rows = ranked(oneflow.rows(oneflow.WIDE), sweep="oneflow_wide")
    return select(rows, tables, "h200", "float32", "oneflow_wide")


def test_the_heat_map_names_the_m_of_each_column(wide):
    cells, _ = draw_speedup(wide).axes  # one band and the colour bar
    labels = [label.get_text() for label in cells.get_xticklabels()]
    assert labels[:3] == ["128\n786432", "768\n131072", "1000\n100663"]
    assert cells.get_xlabel() == "N (columns), and below it M (rows)"
    assert len(cells.texts) == len(oneflow.WIDE) * len(oneflow.VARIANTS)


def test_sizes_of_their_own_m_are_one_part_and_the_others_go_by_m():
    """As a sweep that holds the bytes, beside one that holds M; 4 by 4096 is of both."""
    constant = [(16384 // n, n) for n in (16, 100, 512, 4096)]
    held = [(m, n) for m in (1, 4) for n in (4096, 8192)]
    rows = pd.DataFrame(sorted({*constant, *held}), columns=["M", "N"])
    found = [list(part.itertuples(index=False, name=None)) for part in panels.split_by_m(rows)]
    assert found == [held[:2], held[2:], sorted(constant)]


def test_several_m_of_several_sizes_are_parts_though_each_n_has_one_m():
    """As in a sweep of short and of long rows, each with another M."""
    m_of_n = {256: 1024, 1024: 16384, 4096: 1024, 16384: 16384, 65536: 1024}
    parts = panels.split_by_m(frame(m_of_n))
    assert [panels.describe_m(part) for part in parts] == ["M = 1024", "M = 16384"]
    assert [part["N"].tolist() for part in parts] == [[256, 4096, 65536], [1024, 16384]]


@pytest.mark.parametrize("m_of_n", [oneflow.WIDE, {128: 1024, 256: 900}, {256: 900, 512: 900}])
def test_sizes_of_one_m_each_or_of_one_m_are_one_part(m_of_n):
    (part,) = panels.split_by_m(frame(m_of_n))
    assert part["N"].tolist() == list(m_of_n)
