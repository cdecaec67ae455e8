"""What holds for any input: statistics of blocks, the reader of rows, the merge.

Derandomised: the same examples in every run, so that a failure is one of the code.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import InputError, merge, rows, schema
from measure.stats import interval
from tests.analysis import synthetic

quick = settings(derandomize=True, deadline=None, database=None, max_examples=60)

times = st.floats(0.5, 1e6)
pairs = st.lists(st.tuples(times, times), min_size=1, max_size=60).map(np.array)
# Any text but lone surrogates, which UTF-8 does not have, and the carriage return, which Python's
# csv.writer did not quote before 3.13 and which no row has: its messages are one line.
texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\r")
    | st.sampled_from('",\n\u2028\x00'),
    max_size=30,
)
LEADING = {"sweep": "s", "origin": "measured"}
SIZES, VARIANTS = [256, 512, 4096], ["torch_softmax", "triton_row", "triton_online"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("properties")


@pytest.fixture(scope="module")
def cells(folder):
    """Nine cells, in the order of their identity."""
    lines = synthetic.sweep_rows(SIZES, VARIANTS, message='with "quotes", commas')
    lines.sort(key=lambda row: (int(row["N"]), row["variant"]))
    return [synthetic.write_row(folder, row) for row in lines]


@quick
@given(pairs, st.integers(0, 9))
def test_a_drift_of_both_sides_cancels(given_pairs, seed):
    top, bottom = given_pairs.T
    drift = 2.0 ** np.random.default_rng(seed).integers(-3, 4, len(top))
    assert interval.paired_ratio(top * drift, bottom * drift) == interval.paired_ratio(top, bottom)


@quick
@given(st.data())
def test_the_order_of_the_cells_does_not_matter(cells, folder, data):
    chosen = data.draw(st.lists(st.sampled_from(cells), min_size=1, unique=True))
    first, second = folder / "first.csv", folder / "second.csv"
    assert merge.merge_rows(chosen, "s", first) == len(chosen)
    merge.merge_rows(data.draw(st.permutations(chosen)), "s", second)
    assert first.read_bytes() == second.read_bytes()
    merged = rows.read_rows(first, schema.LEADING)
    in_order = [cell for cell in cells if cell in chosen]
    assert merged == [LEADING | rows.read_row_file(cell) for cell in in_order]


@quick
@given(texts)
def test_any_text_comes_through_the_merge_as_it_was(folder, message):
    row = synthetic.row(message=message)
    path = synthetic.write_csv(folder / "text.csv", [row])
    merge.merge_rows([path], "s", folder / "merged.csv")
    (merged,) = rows.read_rows(folder / "merged.csv", schema.LEADING)
    assert merged == LEADING | row


@settings(quick, max_examples=15)  # each is cut at fifty places
@given(texts, st.sampled_from(["ok", "crash"]), st.data())
def test_a_cell_cut_anywhere_is_refused_by_name(folder, message, status, data):
    path = synthetic.write_csv(folder / "cut.csv", [synthetic.row(status=status, message=message)])
    whole = path.read_bytes()
    # Every byte of the last line's end, where a cut is easy to miss, and some of the others.
    some = data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=40))
    for end in {*some, *range(len(whole) - 12, len(whole))}:
        path.write_bytes(whole[:end])
        with pytest.raises(InputError) as caught:
            rows.read_row_file(path)
        assert str(path) in str(caught.value)
