"""Rows and samples reach the disk whole, or not at all."""

import gzip
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from analysis import row_files
from measure import row
from tests.bench import read_row

GOOD = {"gpu": "cpu", "op": "softmax", "dtype": "float32", "M": 4, "N": 8, "status": "ok"}


def test_a_row_has_all_columns_and_messages_of_one_line_and_samples_lie_beside_it(tmp_path):
    path = tmp_path / "a" / "row.csv"
    message = 'first, "quoted"\nsecond\r\n\tthird\x1b'
    columns = GOOD | {"time_us": 1.23456789012, "git_dirty": False, "message": message}
    row.write_row(path, columns, [(0, 0, "copy", 1.5), (0, 1, "variant", 2.5)])
    header, _ = path.read_text(encoding="utf-8").splitlines()
    assert header == ",".join(row.COLUMNS)
    written = {"M": "4", "time_us": "1.23456789", "git_dirty": "false", "copy_us": ""}
    assert read_row(path).items() >= written.items()
    assert read_row(path)["message"] == 'first, "quoted" second third?'
    assert len(row.one_line("x" * 10_000)) == 500
    text = gzip.decompress(path.with_name("row.samples.csv.gz").read_bytes()).decode()
    assert text == "block,order,series,time_us\n0,0,copy,1.5\n0,1,variant,2.5\n"


@pytest.mark.parametrize("bad", [{"speed": 1}, {"status": "fine"}])
def test_what_is_not_in_the_schema_is_not_written(tmp_path, bad):
    with pytest.raises(ValueError, match="not "):
        row.write_row(tmp_path / "row.csv", GOOD | bad, [])
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_row_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "row.csv"
    row.write_row(path, GOOD, [])
    before = path.read_text(encoding="utf-8")

    def disk_full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(row.os, "fsync", disk_full)
    with pytest.raises(OSError, match="No space"):
        row.write_row(path, GOOD | {"M": 5}, [])
    assert path.read_text(encoding="utf-8") == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["row.csv", "row.samples.csv.gz"]


@pytest.fixture(params=[row.write_atomically, row_files.write])
def write(request):
    """Each function that writes a file: of a row, and of the analysis."""
    return request.param


def test_a_link_stays_a_link_to_the_file_that_is_replaced(write, tmp_path):
    (tmp_path / "kept").mkdir()
    target, link = tmp_path / "kept/file", tmp_path / "link"
    for there in (False, True):  # at first the link leads nowhere
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        write(link, b"new" if there else b"old")
        assert link.is_symlink()
        assert target.read_bytes() == (b"new" if there else b"old")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "kept", "link"]


def test_a_pipe_and_a_device_are_written_through(write, tmp_path):
    """Replaced by a regular file, /dev/null would be gone for the whole machine."""
    pipe, device = tmp_path / "pipe", tmp_path / "null"
    os.mkfifo(pipe)
    device.symlink_to(os.devnull)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        write(pipe, b"content")
        assert read.result(timeout=60) == b"content"
    write(device, b"content")
    assert pipe.is_fifo()
    assert Path(os.devnull).is_char_device()
    assert sorted(tmp_path.iterdir()) == [device, pipe]


def test_a_pipe_behind_a_descriptor_is_written_through(write):
    """As in `--output /dev/stdout | head`, and `--output >(head)`: the link leads to no file."""
    end, other_end = os.pipe()
    write(Path(f"/dev/fd/{other_end}"), b"content")
    os.close(other_end)
    with os.fdopen(end, "rb") as pipe:
        assert pipe.read() == b"content"


def test_a_ring_of_links_is_refused_and_stays(tmp_path):
    ring = [tmp_path / "one", tmp_path / "two"]
    ring[0].symlink_to(ring[1])
    ring[1].symlink_to(ring[0])
    with pytest.raises(OSError, match="symbolic links"):
        row.write_atomically(ring[0], b"content")
    assert sorted(tmp_path.iterdir()) == ring


def test_a_place_where_no_row_can_be_written_is_known_before_measuring(tmp_path):
    (tmp_path / "taken.samples.csv.gz").mkdir()
    # Its samples and their temporary file have longer names than the row.
    for name, why in (("a" * 240 + ".csv", "name too long"), ("taken.csv", "is a folder")):
        with pytest.raises(OSError, match=why):
            row.check_writable(tmp_path / name)
    row.check_writable(tmp_path / "new/row.csv")
    assert not any((tmp_path / "new").iterdir())


def test_a_row_that_goes_to_a_pipe_leaves_no_samples_beside_it(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text, encoding="utf-8")
        row.write_row(pipe, {"M": 3}, [(0, 0, "variant", 1.0)])
        assert read.result(timeout=60).startswith("gpu,op,")
    assert [*tmp_path.iterdir()] == [pipe]
