"""What holds for any input: statistics of blocks, the reader of rows, the merge.

Derandomised: the same examples in every run, so that a failure is one of the code.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis import merge, rows, schema
from analysis.errors import InputError
from measure.stats import interval
from tests.analysis import synthetic

quick = settings(derandomize=True, deadline=None, database=None, max_examples=60)

times = st.floats(0.5, 1e6)
blocks = st.lists(times, min_size=1, max_size=60)
pairs = st.lists(st.tuples(times, times), min_size=1, max_size=60).map(np.array)
powers_of_two = st.integers(-20, 20).map(lambda k: 2.0**k)  # multiplying by them is exact
# Any text but lone surrogates, which UTF-8 does not have, and the carriage return, which Python's
# csv.writer did not quote before 3.13 and which no row has: its messages are one line.
texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\r")
    | st.sampled_from('",\n\u2028\x00'),
    max_size=30,
)
SIZES, VARIANTS = [256, 512, 4096], ["torch_softmax", "triton_row", "triton_online"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("properties")


@pytest.fixture(scope="module")
def cells(folder):
    """Nine cells, in the order of their identity."""
    lines = synthetic.sweep_rows(SIZES, VARIANTS, message='with "quotes", commas')
    lines.sort(key=lambda row: (int(row["N"]), row["variant"]))
    return [synthetic.write_cell(folder, row) for row in lines]


@quick
@given(blocks, st.integers(0, 9))
def test_the_median_lies_in_its_interval_and_the_interval_among_the_values(values, seed):
    one = interval.median_interval(values, seed)
    assert min(values) <= one.low <= one.value <= one.high <= max(values)
    assert one.width >= 0
    assert one == interval.median_interval(values, seed), "the seed decides"


@quick
@given(blocks, powers_of_two)
def test_another_unit_changes_nothing_but_the_unit(values, unit):
    one = interval.median_interval(values)
    scaled = interval.median_interval(np.array(values) * unit)
    assert scaled == pytest.approx([part * unit for part in one], rel=1e-12)
    assert scaled.width == pytest.approx(one.width, rel=1e-9)


@quick
@given(st.data(), blocks)
def test_the_order_of_the_blocks_does_not_move_the_median(data, values):
    shuffled = data.draw(st.permutations(values))
    one, other = interval.median_interval(values), interval.median_interval(shuffled)
    assert other.value == one.value
    assert other.low <= one.value <= other.high


@quick
@given(times, st.integers(1, 60))
def test_equal_values_leave_no_doubt(value, count):
    assert interval.median_interval([value] * count) == (value, value, value)


@quick
@given(pairs, st.integers(0, 9))
def test_a_drift_of_both_sides_cancels(given_pairs, seed):
    top, bottom = given_pairs.T
    drift = 2.0 ** np.random.default_rng(seed).integers(-3, 4, len(top))
    assert interval.paired_ratio(top * drift, bottom * drift) == interval.paired_ratio(top, bottom)


@quick
@given(pairs)
def test_the_ratio_the_other_way_round_is_the_inverse(given_pairs):
    # With an even number the median is a mean of two, and a mean of inverses is another one.
    top, bottom = (given_pairs if len(given_pairs) % 2 else given_pairs[1:]).T
    assume(len(top))
    one, other = interval.paired_ratio(top, bottom), interval.paired_ratio(bottom, top)
    assert other.value == pytest.approx(1 / one.value, rel=1e-12)
    assert (one.low > 1) <= (other.high < 1 + 1e-12)
    assert (one.high < 1) <= (other.low > 1 - 1e-12)


@quick
@given(blocks, st.floats(0.5, 2))
def test_a_variant_a_known_number_of_times_faster_is_that(values, factor):
    torch = np.array(values)
    one = interval.paired_ratio(torch, torch / factor)
    assert one == pytest.approx((factor,) * 3, rel=1e-12)


@quick
@given(st.data())
def test_the_order_of_the_cells_does_not_matter(cells, folder, data):
    chosen = data.draw(st.lists(st.sampled_from(cells), min_size=1, unique=True))
    first, second = folder / "first.csv", folder / "second.csv"
    assert merge.merge_cells(chosen, "s", first) == len(chosen)
    merge.merge_cells(data.draw(st.permutations(chosen)), "s", second)
    assert first.read_bytes() == second.read_bytes()
    merged = rows.read_rows(first, schema.LEADING)
    in_order = [cell for cell in cells if cell in chosen]
    assert merged == [["s", "measured", *rows.read_cell(cell)] for cell in in_order]


@quick
@given(st.data())
def test_a_cell_given_twice_is_refused_and_nothing_is_written(cells, folder, data):
    chosen = data.draw(st.lists(st.sampled_from(cells), min_size=1, unique=True))
    again = data.draw(st.lists(st.sampled_from(chosen), min_size=1))
    output = folder / "duplicates.csv"
    with pytest.raises(InputError, match="duplicate point") as caught:
        merge.merge_cells(data.draw(st.permutations(chosen + again)), "s", output)
    assert any(str(cell) in str(caught.value) for cell in again)
    assert not output.exists()


@quick
@given(texts, texts)
def test_any_text_comes_through_the_merge_as_it_was(folder, message, flags):
    row = synthetic.row(message=message, flags=flags)
    path = synthetic.write_csv(folder / "text.csv", [row])
    merge.merge_cells([path], "s", folder / "merged.csv")
    (merged,) = rows.read_rows(folder / "merged.csv", schema.LEADING)
    assert merged == ["s", "measured", *row.values()]


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
            rows.read_cell(path)
        assert str(path) in str(caught.value)


@quick
@given(st.lists(texts, min_size=2, max_size=4), st.data())
def test_of_a_table_cut_anywhere_only_whole_rows_are_read(folder, messages, data):
    lines = [synthetic.row(N=str(i + 1), message=text) for i, text in enumerate(messages)]
    path = synthetic.write_csv(folder / "table.csv", lines)
    whole = path.read_bytes()
    for end in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=20)):
        path.write_bytes(whole[:end])
        found, complaint = read(path)
        assert found == [list(row.values()) for row in lines[: len(found)]]
        assert len(found) < len(lines)
        assert complaint.startswith(f"{path}: ") or whole[:end].endswith(b"\n")


@quick
@given(st.data())
def test_columns_in_another_order_are_refused_by_name(folder, data):
    names = schema.COLUMNS
    given_names = data.draw(st.permutations(names))
    assume(tuple(given_names) != names)
    at = next(i for i, pair in enumerate(zip(given_names, names, strict=True)) if len({*pair}) > 1)
    text = header_of(folder / "permuted.csv", given_names)
    with pytest.raises(InputError) as caught:
        rows.read_rows(text)
    assert f"column {at + 1} is {given_names[at]}, expected {names[at]}" in str(caught.value)


@quick
@given(st.sampled_from(schema.COLUMNS), texts)
def test_a_renamed_column_is_refused_by_name(folder, name, other):
    assume(other != name)
    names = [other if column == name else column for column in schema.COLUMNS]
    with pytest.raises(InputError) as caught:
        rows.read_rows(header_of(folder / "renamed.csv", names))
    assert f"column {name} is missing" in str(caught.value)


def read(path):
    """The rows that the reader accepts, and its complaint."""
    try:
        return rows.read_rows(path), ""
    except InputError as error:
        return [], str(error)


def header_of(path, names):
    """Write a file whose one row fits the given header; returns its path."""
    row = synthetic.row()
    rows.write_rows(path, names, [[row.get(name, "") for name in names]])
    return path
