"""What is not a row is never merged, and whoever follows the advice completes the sweep."""

import gzip
import re

import pytest

from analysis.errors import InputError
from analysis.merge import NAMED, merge_cells
from tests.analysis import synthetic
from tests.faults.sweeps import MERGED, samples_of
from tests.workflow.runner import UNTIL_MERGED


def without_a_column(text: str) -> str:
    """The same row as another version of the project would write it: without ``speedup_low``."""
    header, line = (part.split(",") for part in text.splitlines())
    at = header.index("speedup_low")
    return "".join(",".join(part[:at] + part[at + 1 :]) + "\n" for part in (header, line))


def cut(path, share: float = 0.5) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


def becomes_a_folder(path) -> None:
    path.unlink()
    path.mkdir()


def rewrite(change):
    """The fault that puts ``change(text)`` in place of a row's text."""
    return lambda path: path.write_text(change(path.read_text()))


def wrong_checksum(path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-8] + b"\1" * 4 + content[-4:])


# fault: what it does to a file, and what is said of it
ROW_FAULTS = {
    "cut in its header": (lambda path: cut(path, 0.2), "wrong header: column"),
    "cut in its values": (lambda path: cut(path, 0.9), "a truncated line"),
    "empty": (rewrite(lambda text: ""), "empty, expected a header line"),
    "a header alone": (rewrite(lambda text: text.splitlines()[0] + "\n"), "0 rows, a cell has"),
    "no line end": (rewrite(lambda text: text.rstrip("\n")), "the last line has no line end"),
    "zeros, as after a power loss": (
        lambda path: path.write_bytes(bytes(path.stat().st_size)),
        "wrong header: column gpu is missing",
    ),
    "a folder": (becomes_a_folder, "cannot be read (Is a directory)"),
    "another version's": (rewrite(without_a_column), "column speedup_low is missing"),
}
SAMPLE_FAULTS = {
    "cut": (cut, "not readable samples"),
    "empty": (lambda path: path.write_bytes(b""), "truncated"),
    "a wrong checksum": (wrong_checksum, "not readable samples (CRC check failed"),
    "cut inside a line": (
        lambda path: path.write_bytes(gzip.compress(b"block,order,series,time_us\n0,")),
        "the last line has no line end",
    ),
    "a folder": (becomes_a_folder, "not readable samples ([Errno 21] Is a directory"),
}


@pytest.mark.parametrize(
    ("file", "fault"),
    [(str, name) for name in ROW_FAULTS] + [(samples_of, name) for name in SAMPLE_FAULTS],
)
def test_is_never_merged(tmp_path, file, fault):
    made = synthetic.sweep_rows([256, 1024], ["torch_softmax", "triton_row"])
    cells = [synthetic.write_cell(tmp_path, row) for row in made]
    break_it, words = (SAMPLE_FAULTS if file is samples_of else ROW_FAULTS)[fault]
    break_it(samples_of(cells[1]) if file is samples_of else cells[1])
    with pytest.raises(InputError) as told:
        merge_cells(cells, "s", tmp_path / "merged.csv")
    assert words in str(told.value)
    assert cells[1].stem in str(told.value)
    assert "delete it and run again" in str(told.value)
    assert not (tmp_path / "merged.csv").exists()


def test_all_that_is_broken_is_named_at_once(tmp_path):
    sizes = range(1, NAMED + 10)
    many = [synthetic.write_cell(tmp_path, synthetic.row(N=n)) for n in sizes]
    for path in many[3:]:
        cut(path)
    with pytest.raises(InputError) as told:
        merge_cells(many, "s", tmp_path / "merged.csv")
    first, _, others = str(told.value).partition(". Refused as well: ")
    assert first.startswith(str(many[3]))
    named, _, more = others.partition(" and ")
    assert named.split() == [str(path) for path in many[4 : 4 + NAMED]]
    assert more == f"{len(many) - 4 - NAMED} more"


def test_following_the_advice_completes_the_sweep(finished):
    *broken, whole = finished.rows()
    ROW_FAULTS["cut in its values"][0](broken[0])
    ROW_FAULTS["another version's"][0](broken[1])
    cut(samples_of(broken[2]))
    before = (whole.read_bytes(), whole.stat().st_mtime_ns)
    (finished.folder / MERGED).unlink()
    code, printed = finished.run(*UNTIL_MERGED)
    assert code != 0
    (line,) = (line for line in printed.splitlines() if line.startswith("analysis merge: error: "))
    named = re.findall(r"results/cells/[\w/.]+\.(?:csv|gz)", line)
    assert len(named) == len(broken)
    assert "Traceback" not in printed
    assert not (finished.folder / MERGED).exists()
    for name in named:
        (finished.folder / name).unlink()
    code, printed = finished.run(*UNTIL_MERGED)
    assert code == 0, printed
    assert re.search(r"^point +3$", printed, re.MULTILINE)
    assert len(finished.merged()) == len(finished.statuses()) == 4
    assert (whole.read_bytes(), whole.stat().st_mtime_ns) == before
