"""What is not a row is never merged, and whoever follows the advice completes the sweep."""

import gzip
import re
from pathlib import Path

import pytest

from analysis import InputError
from analysis.merge import NAMED, merge_rows
from tests.analysis import synthetic
from tests.faults.sweeps import MERGED, samples_of
from tests.workflow.runner import UNTIL_MERGED

# without the time of day: processes of pytest-xdist must name these tests alike
HALF_A_LINE = gzip.compress(b"block,order,series,time_us\n0,", mtime=0)
WRONG_SUM = HALF_A_LINE[:-8] + b"\1" * 4 + HALF_A_LINE[-4:]


def cut(path, share: float = 0.5) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


# tests/analysis/test_row_files.py has what else may be wrong with a row
@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        (Path, None, "cannot be read (Is a directory)"),
        (samples_of, WRONG_SUM, "not readable samples (CRC check"),
        (samples_of, HALF_A_LINE, "the last line has no line end"),
    ],
    ids=["row", "sum", "line"],
)
def test_is_never_merged(tmp_path, file, content, words):
    row_file = synthetic.write_row(tmp_path, synthetic.row())
    broken = file(row_file)
    broken.unlink()
    broken.write_bytes(content) if content else broken.mkdir()
    with pytest.raises(InputError, match=re.escape(words)) as told:
        merge_rows([row_file], "s", tmp_path / "merged.csv")
    assert row_file.stem in str(told.value)
    assert "delete it and run again" in str(told.value)
    assert not (tmp_path / "merged.csv").exists()


def test_all_that_is_broken_is_named_at_once(tmp_path):
    sizes = range(1, NAMED + 10)
    many = [synthetic.write_row(tmp_path, synthetic.row(N=n)) for n in sizes]
    for path in many[3:]:
        cut(path)
    with pytest.raises(InputError) as told:
        merge_rows(many, "s", tmp_path / "merged.csv")
    first, _, further_paths = str(told.value).partition(". Refused as well: ")
    assert first.startswith(str(many[3]))
    named, _, more = further_paths.partition(" and ")
    assert named.split() == [str(path) for path in many[4 : 4 + NAMED]]
    assert more == f"{len(many) - 4 - NAMED} more"


def test_following_the_advice_completes_the_sweep(finished):
    *broken, whole = finished.rows()
    cut(broken[0], 0.9)
    broken[1].write_bytes(bytes(broken[1].stat().st_size))  # a power loss leaves such a file
    cut(samples_of(broken[2]))
    before = (whole.read_bytes(), whole.stat().st_mtime_ns)
    (finished.folder / MERGED).unlink()
    code, printed = finished.run(*UNTIL_MERGED)
    assert code != 0
    (line,) = (line for line in printed.splitlines() if line.startswith("error: "))
    named = re.findall(r"results/rows/[\w/.]+\.(?:csv|gz)", line)
    assert len(named) == len(broken)
    assert "Traceback" not in printed
    assert not (finished.folder / MERGED).exists()
    for name in named:
        (finished.folder / name).unlink()
    code, printed = finished.run(*UNTIL_MERGED)
    assert code == 0, printed
    assert re.search(r"^point +3$", printed, re.MULTILINE)
    assert len(finished.merged()) == 4
    assert (whole.read_bytes(), whole.stat().st_mtime_ns) == before
