"""Merging rows of the current code, and collecting them with recorded rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import InputError, frame, ranking, row_files, schema
from analysis.merge import collect, left_out, merge_rows
from analysis.report import trust
from tests.analysis import synthetic
from tests.analysis.conftest import EXAMPLES, TEXTS
from tests.workflow.runner import read_csv

LEADING = {"sweep": "s", "origin": "measured"}


@pytest.fixture(scope="module")
def six_files(tmp_path_factory):
    """Six files of one row, in the order of their identity."""
    some = synthetic.sweep_rows([256, 1024, 131072], ["torch_softmax", "triton_row"])
    return [synthetic.write_row(tmp_path_factory.mktemp("x"), row) for row in some]


def test_merge_refuses_a_point_that_comes_twice(six_files, tmp_path):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(six_files[0].read_bytes())
    with pytest.raises(InputError, match=r"duplicate row \(s h200 softmax float32 uniform 1024"):
        merge_rows([*six_files, copy], "s", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_collect_adds_recorded_gpus_that_lie_in_their_folder(tmp_path):
    table = synthetic.write_csv(tmp_path / "h200/online_softmax.csv", [synthetic.row()])
    file = synthetic.write_row(tmp_path, synthetic.row(gpu="cpu"))
    merge_rows([file], "online_softmax", tmp_path / "cpu.csv")
    assert collect([tmp_path / "cpu.csv"], [table], tmp_path / "all.csv") == 2
    collected = read_csv(tmp_path / "all.csv")
    origins = [(row["gpu"], row["origin"]) for row in collected]
    assert origins == [("cpu", "measured"), ("h200", "recorded")]


def test_a_recorded_table_that_cannot_be_read_is_named_and_left_out(tmp_path, capsys):
    good = synthetic.write_csv(tmp_path / "h200/online_softmax.csv", [synthetic.row()])
    for name, row, reason in (
        (
            "h200/misplaced",
            synthetic.row(gpu="a100"),
            "of gpu a100, its folder says h200",
        ),
        ("h200/My sweep", synthetic.row(), "its name is that of its sweep: lower-case letters"),
        ("h200/later", synthetic.row(flags="fine"), "flags is 'fine', expected one of aa_biased"),
        ("h200/newer", synthetic.row(schema_version="900"), "schema_version is '900', and this"),
    ):
        bad = synthetic.write_csv(tmp_path / f"{name}.csv", [row])
        assert collect([], [good, bad], tmp_path / "all.csv") == 1
        assert reason in capsys.readouterr().err
        (said,) = left_out([good, bad], {("h200", "online_softmax")})
        assert said.startswith(f"left out: {bad}: ")


def test_of_a_matrix_on_several_boards_that_of_most_rows_ranks(tmp_path):
    boards = {"triton_row": "GPU-2", "triton_online": "GPU-2", "torch_softmax": "GPU-1"}
    rows = [synthetic.row(variant=name, gpu_uuid=uuid) for name, uuid in boards.items()]
    # Two boards with as many rows: the sweep has more rows of one of them.
    rows += synthetic.sweep_rows([256, 512], ["triton_row"], gpu_uuid="GPU-3")
    rows += synthetic.sweep_rows([256, 512, 4096], ["torch_softmax"], gpu_uuid="GPU-1")
    table = synthetic.write_csv(tmp_path / "h200" / "mine.csv", rows)
    collect([], [table], tmp_path / "all.csv")
    collected = read_csv(tmp_path / "all.csv")
    assert {(row["N"], row["gpu_uuid"]) for row in collected if row["ranked"] == "true"} == {
        *(("1024", "GPU-2"), ("256", "GPU-1"), ("512", "GPU-1"), ("4096", "GPU-1")),
    }
    assert {row["unranked_by"] for row in collected if row["ranked"] == "false"} == {"other_board"}


def current(**change):
    """A row of the current code."""
    return synthetic.row(**{"variant": "triton_row"} | synthetic.code_of("triton_row") | change)


def test_recorded_rows_of_other_code_are_marked_kept_and_reported(tmp_path):
    rows = [current(N=8), current(N=9, kernel_sha256="7"), current(N=10, variant="gone")]
    table = synthetic.write_csv(tmp_path / "recorded" / "h200" / "mine.csv", rows)
    out = tmp_path / "all.csv"
    collect([], [table], out)
    collected = frame.load(out)
    assert collected.set_index("N")["stale"].to_dict() == {8: "false", 9: "true", 10: "true"}
    stale = trust.controls(collected)[-1]
    assert stale.text.startswith("2 rows predate the current code")
    flags = ranking.rank_variants(collected).set_index("N")["flags"]
    assert {n: frame.mark(flag) for n, flag in flags.items()} == {8: "", 9: "◊", 10: "◊"}


@EXAMPLES
@given(TEXTS, st.data())
def test_the_order_of_the_files_does_not_matter_and_a_message_stays(
    six_files, tmp_path_factory, message, data
):
    folder, last = tmp_path_factory.getbasetemp(), synthetic.row(N=2**20, message=message)
    every = [*six_files, synthetic.write_csv(folder / "text.csv", [last])]
    chosen = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    first, second = (folder / name for name in ("1.csv", "2.csv"))
    assert merge_rows(chosen, "s", first) == len(chosen)
    merge_rows(data.draw(st.permutations(chosen)), "s", second)
    assert first.read_bytes() == second.read_bytes()
    merged = row_files.read_rows(first, schema.SOURCE_COLUMNS)
    rows = [*map(row_files.read_row_file, six_files), last]
    expected = (row for file, row in zip(every, rows, strict=True) if file in chosen)
    assert merged == [LEADING | row for row in expected]
