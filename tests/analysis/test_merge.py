"""Merging rows of the current code, and collecting them with recorded rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernels
from analysis import InputError, frame, rows, schema
from analysis.merge import collect, merge_rows
from analysis.report import trust
from measure import fingerprint
from tests.analysis import synthetic
from tests.analysis.conftest import EXAMPLES, TEXTS

LEADING = {"sweep": "s", "origin": "measured"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rows")


@pytest.fixture(scope="module")
def row_files(folder):
    """Six files of one row, in the order of their identity."""
    some = synthetic.sweep_rows([256, 1024, 131072], ["torch_softmax", "triton_row"])
    return [synthetic.write_row(folder, row) for row in some]


def test_merge_adds_sweep_and_origin_and_sorts_by_size(row_files, tmp_path):
    out = tmp_path / "h200.csv"
    assert merge_rows(reversed(row_files), "online_softmax", out) == 6
    found = synthetic.read_csv(out)
    assert list(found[0]) == ["sweep", "origin", *schema.COLUMNS]
    assert {(row["sweep"], row["origin"]) for row in found} == {("online_softmax", "measured")}
    assert [row["N"] for row in found] == ["256", "256", "1024", "1024", "131072", "131072"]
    first = {name: found[0][name] for name in schema.COLUMNS}
    assert first == synthetic.row(N=256, variant="torch_softmax")


def test_merge_refuses_a_point_that_comes_twice(row_files, tmp_path):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(row_files[0].read_bytes())
    with pytest.raises(InputError, match=r"duplicate row \(h200 softmax float32 uniform 1024"):
        merge_rows([*row_files, copy], "s", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.fixture
def recorded(tmp_path):
    folder = tmp_path / "recorded"
    synthetic.write_csv(folder / "h200" / "online_softmax.csv", [synthetic.row()])
    return folder


def files(recorded):
    return sorted(recorded.glob("*/*.csv"))


def test_collect_adds_recorded_gpus(recorded, tmp_path):
    file = synthetic.write_row(tmp_path, synthetic.row(gpu="cpu"))
    merge_rows([file], "online_softmax", tmp_path / "cpu.csv")
    assert collect([tmp_path / "cpu.csv"], files(recorded), tmp_path / "all.csv") == 2
    found = {
        row["gpu"]: (row["sweep"], row["origin"])
        for row in synthetic.read_csv(tmp_path / "all.csv")
    }
    assert found == {"cpu": ("online_softmax", "measured"), "h200": ("online_softmax", "recorded")}


def test_of_a_matrix_on_several_boards_that_of_most_rows_ranks(tmp_path):
    boards = {"triton_row": "GPU-2", "triton_online": "GPU-2", "torch_softmax": "GPU-1"}
    rows = [synthetic.row(variant=name, gpu_uuid=uuid) for name, uuid in boards.items()]
    # as many of each: that of most rows of the sweep
    rows += [
        synthetic.row(variant=name, N=n, gpu_uuid=uuid)
        for n in (256, 512)
        for name, uuid in (("triton_row", "GPU-3"), ("torch_softmax", "GPU-1"))
    ]
    rows.append(synthetic.row(N=4096, gpu_uuid="GPU-1"))
    table = synthetic.write_csv(tmp_path / "h200" / "mine.csv", rows)
    collect([], [table], tmp_path / "all.csv")
    found = synthetic.read_csv(tmp_path / "all.csv")
    assert {(row["N"], row["gpu_uuid"]) for row in found if row["ranked"] == "true"} == {
        *(("1024", "GPU-2"), ("256", "GPU-1"), ("512", "GPU-1"), ("4096", "GPU-1")),
    }
    assert {row["unranked_by"] for row in found if row["ranked"] == "false"} == {"other_board"}


def test_collect_refuses_a_stranger_in_a_recorded_folder(recorded, tmp_path):
    synthetic.write_csv(recorded / "h200" / "more.csv", [synthetic.row(gpu="a100")])
    with pytest.raises(InputError, match="line 2 is of gpu a100, its folder says h200"):
        collect([], files(recorded), tmp_path / "all.csv")
    assert not (tmp_path / "all.csv").exists()


def current(**change):
    """A row of the current code."""
    code = {"kernel_sha256": kernels.sha256("triton_row", "h200")}
    code |= {"measure_sha256": fingerprint.measure_sha256()}
    return synthetic.row(**{"variant": "triton_row"} | code | change)


def test_rows_of_other_code_are_not_merged(tmp_path):
    out = tmp_path / "merged.csv"
    files = [synthetic.write_row(tmp_path, current())]
    assert merge_rows(files, "s", out, only_current=True) == 1
    out.unlink()
    for column in ("kernel_sha256", "measure_sha256"):
        files = [synthetic.write_row(tmp_path, current(**{column: "7"}))]
        with pytest.raises(InputError) as raised:
            merge_rows(files, "s", out, only_current=True)
        assert f"{files[0]}: " in str(raised.value)
        assert f"({column} differ)" in str(raised.value)
        assert not out.exists()


def test_recorded_rows_of_other_code_are_marked_kept_and_reported(tmp_path):
    rows = [current(N=8), current(N=9, kernel_sha256="7"), current(N=10, variant="gone")]
    table = synthetic.write_csv(tmp_path / "recorded" / "h200" / "mine.csv", rows)
    out = tmp_path / "all.csv"
    collect([], [table], out)
    found = frame.load(out)
    assert found.set_index("N")["stale"].to_dict() == {8: "false", 9: "true", 10: "true"}
    stale = trust.findings(found, schema.UNRANKED)[-1]
    assert stale.text.startswith("other code than the current one measured 2 rows")


@EXAMPLES
@given(st.data())
def test_the_order_of_the_files_does_not_matter(row_files, folder, data):
    chosen = data.draw(st.lists(st.sampled_from(row_files), min_size=1, unique=True))
    first, second = folder / "first.csv", folder / "second.csv"
    assert merge_rows(chosen, "s", first) == len(chosen)
    merge_rows(data.draw(st.permutations(chosen)), "s", second)
    assert first.read_bytes() == second.read_bytes()
    merged = rows.read_rows(first, schema.LEADING)
    assert merged == [LEADING | rows.read_row_file(file) for file in row_files if file in chosen]


@EXAMPLES
@given(TEXTS)
def test_any_text_comes_through_the_merge_as_it_was(folder, message):
    row = synthetic.row(message=message)
    path = synthetic.write_csv(folder / "text.csv", [row])
    merge_rows([path], "s", folder / "merged.csv")
    (merged,) = rows.read_rows(folder / "merged.csv", schema.LEADING)
    assert merged == LEADING | row
