"""What Nsight Compute says becomes a table; that it runs is seen on a GPU alone."""

import pytest

from studies import counters

pytestmark = pytest.mark.slow  # an experiment that no sweep runs

POINT = "float32:16x1024:frontier"


def said(kernels: int = 1) -> str:
    """As ``ncu --csv --page raw`` prints it, after what the program has printed."""
    names = ["ID", "Kernel Name", *(name for name, _ in counters.COUNTERS.values())]
    names += [counters.STALLED.format(reason) for reason in counters.STALLS]
    values = [
        "0",
        "f(float *, int)",
        "35,872",
        "70.5",
        "67,108,864",
        "1,000",
        "35.1",
        "20",
        "45.25",
    ]
    values += ["54", *(str(number) for number in range(len(counters.STALLS)))]
    lines = [names, [""] * len(names), *([values] * kernels)]
    text = "\n".join(",".join(f'"{cell}"' for cell in line) for line in lines)
    return f"==PROF== Connected to process 1\n{text}\n"


def test_a_row_has_what_was_counted_in_its_units_and_the_longest_waits():
    row = counters.row_of(POINT, said())
    assert (row["dtype"], row["M"], row["N"], row["variant"]) == ("float32", 16, 1024, "frontier")
    assert row["time_us"] == "35.87"
    assert row["dram_read_mb"] == "67.11"
    assert row["registers"] == "54"
    assert row["stalls"] == "sleeping 9.0, drain 8.0, wait 7.0"


@pytest.mark.parametrize("kernels", [0, 2])
def test_other_than_one_kernel_is_an_error(kernels):
    with pytest.raises(counters.Failed, match=f"saw {kernels} kernels"):
        counters.row_of(POINT, said(kernels))


@pytest.mark.parametrize("point", ["float32:16:frontier", "16x1024", "float32:axb:frontier"])
def test_a_point_that_is_none_is_an_error(point, tmp_path, capsys):
    assert counters.main(["record", "--output", str(tmp_path / "x.csv"), point]) == 2
    assert "wanted dtype:MxN:variant" in capsys.readouterr().err


def test_a_missing_ncu_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert counters.main(["record", "--output", str(tmp_path / "x.csv"), POINT]) == 2
    assert "ncu (NVIDIA Nsight Compute) is not installed" in capsys.readouterr().err


def test_the_table_has_a_line_for_each_point(tmp_path):
    lines = [",".join(counters.COLUMNS), 'float32,16,1024,frontier,1,2,3,4,5,6,7,8,"wait 1.0"']
    data = tmp_path / "x.csv"
    data.write_text("\n".join(lines) + "\n")
    printed = counters.table([data]).splitlines()
    assert len(printed) == 3
    assert printed[2].startswith("| float32 16x1024 frontier | 1 | 2 |")
    assert {line.count("|") for line in printed} == {len(counters.COLUMNS) - 2}
    assert counters.table([data, data]).splitlines() == printed


def test_of_a_point_that_several_files_have_the_table_shows_the_last(tmp_path):
    for name, time in (("old", 9), ("new", 1)):
        line = f'float32,16,1024,frontier,{time},2,3,4,5,6,7,8,"wait 1.0"'
        (tmp_path / name).write_text(",".join(counters.COLUMNS) + f"\n{line}\n")
    (last,) = counters.table([tmp_path / "old", tmp_path / "new"]).splitlines()[2:]
    assert last.startswith("| float32 16x1024 frontier | 1 | 2 |")
