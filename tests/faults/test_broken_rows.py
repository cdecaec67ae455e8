"""What is not a row is never merged, and whoever follows the advice completes the sweep."""

import gzip
import re

import pytest

from analysis.errors import InputError
from analysis.merge import NAMED, merge_cells
from tests.analysis import synthetic
from tests.faults.sweeps import MERGED, UNTIL_MERGED, samples_of


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


FAULTS = {
    "a row cut in its header": (lambda path: cut(path, 0.2), "wrong header: column"),
    "a row cut in its values": (lambda path: cut(path, 0.9), "a truncated line"),
    "an empty row": (lambda path: path.write_text(""), "empty, expected a header line"),
    "a header alone": (
        lambda path: path.write_text(path.read_text().splitlines()[0] + "\n"),
        "0 rows, a cell has exactly one",
    ),
    "a row without its line end": (
        lambda path: path.write_text(path.read_text().rstrip("\n")),
        "the last line has no line end",
    ),
    "zeros, as after a power loss": (
        lambda path: path.write_bytes(bytes(path.stat().st_size)),
        "wrong header: column gpu is missing",
    ),
    "a folder in its place": (becomes_a_folder, "cannot be read (Is a directory)"),
    "another version's header": (
        lambda path: path.write_text(without_a_column(path.read_text())),
        "wrong header: column speedup_low is missing",
    ),
    "half the samples": (lambda path: cut(samples_of(path)), "not readable samples"),
    "empty samples": (lambda path: samples_of(path).write_bytes(b""), "truncated"),
    "samples with a wrong checksum": (
        lambda path: samples_of(path).write_bytes(
            samples_of(path).read_bytes()[:-8] + b"\1" * 4 + samples_of(path).read_bytes()[-4:]
        ),
        "not readable samples (CRC check failed",
    ),
    "samples cut inside a line": (
        lambda path: samples_of(path).write_bytes(gzip.compress(b"block,order,series,time_us\n0,")),
        "the last line has no line end",
    ),
    "a folder in the samples' place": (
        lambda path: becomes_a_folder(samples_of(path)),
        "not readable samples ([Errno 21] Is a directory",
    ),
}


@pytest.fixture
def cells(tmp_path):
    made = synthetic.sweep_rows([256, 1024], ["torch_softmax", "triton_row"])
    return [synthetic.write_cell(tmp_path, row) for row in made]


@pytest.mark.parametrize("name", FAULTS)
def test_is_never_merged(cells, tmp_path, name):
    break_it, words = FAULTS[name]
    break_it(cells[1])
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
    broken = ["a row cut in its values", "another version's header", "half the samples"]
    for path, name in zip(finished.cells(), broken, strict=False):
        FAULTS[name][0](path)
    whole = finished.cells()[-1]
    before = (whole.read_bytes(), whole.stat().st_mtime_ns)
    (finished.folder / MERGED).unlink()
    code, said = finished.run(*UNTIL_MERGED)
    assert code != 0
    (line,) = (line for line in said.splitlines() if line.startswith("analysis merge: error: "))
    named = re.findall(r"results/cells/[\w/.]+\.(?:csv|gz)", line)
    assert len(named) == len(broken)
    assert "Traceback" not in said
    assert not (finished.folder / MERGED).exists()
    for name in named:
        (finished.folder / name).unlink()
    code, said = finished.run(*UNTIL_MERGED)
    assert code == 0, said
    assert re.search(r"^point +3$", said, re.MULTILINE)
    assert len(finished.merged()) == len(finished.statuses()) == 4
    assert (whole.read_bytes(), whole.stat().st_mtime_ns) == before
