"""No room and a read-only disk: a clear message, no half a row, and the same call goes on."""

import sys

import pytest
from snakemake.exceptions import WorkflowError

from planning import machine
from tests.faults.sweeps import samples_of
from tests.workflow.runner import UNTIL_MERGED

SNAKEMAKE = f"{sys.executable} -m snakemake --cores 1 {' '.join(UNTIL_MERGED)}"


def test_a_full_disk_is_named_and_the_same_call_completes_once_there_is_room(finished, mounting):
    gone = finished.rows()[0]
    samples_of(gone).unlink()
    gone.unlink()
    kept = finished.complete()
    script = f"""
        mount -t tmpfs -o size=64m none /mnt
        cp -a . /mnt/project
        cd /mnt/project
        cat /dev/zero > filler 2> /dev/null || true
        if {SNAKEMAKE}; then exit 9; fi
        echo ROOM
        find results/rows -name '.*.tmp' -o -size 0 -type f
        rm filler
        {SNAKEMAKE}
        cp -a results "$OLDPWD/after"
    """
    code, printed = finished.run(words=[*mounting, script])
    assert code == 0, printed
    full, _, room = printed.partition("ROOM\n")
    assert "No space left on device" in full
    assert not room.startswith("results/rows"), "something half written is there"
    after = finished.folder / "after"
    (finished.folder / "results").rename(finished.folder / "before")
    after.rename(finished.folder / "results")
    assert len(finished.merged()) == len(kept) + 1
    for path, files in kept.items():
        assert path.read_bytes() == files[0][0], "measured again"


def test_no_room_for_temporary_files_is_not_the_kernel_s_fault(sweep, mounting):
    sweep.write_kernel("fills", "os.system('cat /dev/zero > $TMPDIR/filler 2> /dev/null')")
    script = f"""
        mount -t tmpfs -o size=4m none "$TMPDIR"
        {sys.executable} -m measure point --gpu cpu --M 64 --N 96 --variant fills \
            --blocks 6 --output row.csv
    """
    code, printed = sweep.run(words=[*mounting, script])
    assert code == 2, printed
    assert "No space left on device" in printed.splitlines()[-1]
    assert str(sweep.scratch) in printed.splitlines()[-1]
    assert not (sweep.folder / "row.csv").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results/rows").mkdir(parents=True)
    # root may write anywhere but on a read-only disk
    monkeypatch.setattr(machine.os, "access", lambda path, mode: path == "results")
    with pytest.raises(WorkflowError, match="results/rows: cannot be written"):
        machine.require_tools({"cpu"})
