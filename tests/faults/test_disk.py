"""A full disk and a read-only one: a clear message, no half a row, and the same call goes on."""

import sys

import pytest

from tests.faults.sweeps import samples_of
from tests.workflow.runner import UNTIL_MERGED

SNAKEMAKE = f"{sys.executable} -m snakemake --cores 1 {' '.join(UNTIL_MERGED)}"
# What fits is taken: the last page, too.
FILL = "cat /dev/zero > {0}/filler 2> /dev/null || true"


@pytest.fixture
def one_to_go(finished):
    """A sweep of which one point is not measured."""
    gone = finished.rows()[0]
    samples_of(gone).unlink()
    gone.unlink()
    return finished


def test_a_full_disk_is_named_and_the_same_call_completes_once_there_is_room(one_to_go, mounting):
    kept = one_to_go.complete()
    script = f"""
        mount -t tmpfs -o size=64m none "$SMALL"
        cp -a . "$SMALL/project"
        cd "$SMALL/project"
        {FILL.format(".")}
        if {SNAKEMAKE}; then exit 9; fi
        echo ROOM
        find results/rows -name '.*.tmp' -o -size 0 -type f
        rm filler
        {SNAKEMAKE}
        cp -a results "$OLDPWD/after"
    """
    code, printed = one_to_go.run(words=mounting(script))
    assert code == 0, printed
    full, _, room = printed.partition("ROOM\n")
    assert "No space left on device" in full
    assert not room.startswith("results/rows"), "something half written is there"
    after = one_to_go.folder / "after"
    (one_to_go.folder / "results").rename(one_to_go.folder / "before")
    after.rename(one_to_go.folder / "results")
    assert len(one_to_go.merged()) == len(kept) + 1
    for path, files in kept.items():
        assert path.read_bytes() == files[0][0], "measured again"


def test_no_room_for_temporary_files_is_not_the_kernel_s_fault(sweep, mounting):
    fill = "os.system('cat /dev/zero > $TMPDIR/filler 2> /dev/null')"
    sweep.write_kernel("meanwhile", fill)
    script = f"""
        mount -t tmpfs -o size=4m none "$TMPDIR"
        {sys.executable} -m measure point --gpu cpu --M 64 --N 96 --variant meanwhile \
            --blocks 6 --output row.csv
    """
    code, printed = sweep.run(words=mounting(script))
    assert code == 2, printed
    assert "No space left on device" in printed.splitlines()[-1]
    assert str(sweep.scratch) in printed.splitlines()[-1]
    assert not (sweep.folder / "row.csv").exists()


@pytest.mark.slow
def test_a_read_only_folder_is_named_and_the_same_call_completes_later(one_to_go, mounting):
    script = f"""
        mount --bind results/rows results/rows
        mount -o remount,bind,ro results/rows
        if {SNAKEMAKE}; then exit 9; fi
        umount results/rows
        echo WRITABLE
        {SNAKEMAKE}
    """
    code, printed = one_to_go.run(words=mounting(script))
    assert code == 0, printed
    told, _, _ = printed.partition("WRITABLE\n")
    assert told.count("results/rows: cannot be written (a read-only disk") == 1
    assert "Traceback" not in told
    assert len(one_to_go.merged()) == 4
