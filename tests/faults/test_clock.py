"""A clock that is put back: times are from clocks that cannot be, and the files stay as good."""

import os
import re

import pytest

from tests.faults.sweeps import MERGED, UNTIL_MERGED, configure, read, samples_of, write_kernel

pytestmark = pytest.mark.slow
HOURS_S = 2 * 3600.0
# The clock is put back as soon as this file is there.
BACK = f"""
import datetime, os, time

now, now_ns = time.time, time.time_ns
FILE = os.path.join(os.path.dirname(__file__), "put_back")

def since():
    return {HOURS_S} if os.path.exists(FILE) else 0.0

class Datetime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(now() - since(), tz)

time.time = lambda: now() - since()
time.time_ns = lambda: now_ns() - int(since() * 1e9)
if b"measure" in open("/proc/self/cmdline", "rb").read():
    datetime.datetime = Datetime
"""
# ... so that whatever was written before is from the future
PUTS_BACK = """
import glob
if not os.path.exists('put_back'):
    open('put_back', 'w').close()
    for path in glob.glob('results/cells/**/*.csv*', recursive=True):
        os.utime(path, (time.time() + 4 * 3600,) * 2)
"""


def test_put_back_while_a_point_is_timed(finished):
    kept = {path: files[0][0] for path, files in finished.complete().items()}
    (finished.folder / "sitecustomize.py").write_text(BACK)
    write_kernel(finished.folder, "late", PUTS_BACK)
    variants = ["torch_naive", "torch_softmax", "late"]
    configure(finished.folder, variants=variants, shapes=[{"M": 4, "N": [8, 13]}])
    words = ["env", f"PYTHONPATH={finished.folder}", "snakemake", "--cores", "1", *UNTIL_MERGED]
    code, said = finished.run(words=words)
    if code:  # Snakemake makes nothing from what is younger than its clock; it has to look again
        assert "clock skew" in said
        code, said = finished.run(words=words)
        assert "0 of 6 points to measure" in said
    assert code == 0, said
    assert (finished.folder / "put_back").exists()
    assert set(finished.statuses().values()) == set(finished.merged().values()) == {"ok"}
    assert len(finished.merged()) == 6
    assert {path: path.read_bytes() for path in kept} == kept, "measured again"
    for path in set(finished.cells()) - set(kept):
        row = read(path)
        assert 0 < float(row["time_us"]) < 1e6
        assert 0 < float(row["wall_s"]) < HOURS_S
    code, said = finished.run("--dry-run", *UNTIL_MERGED)
    assert (code, re.findall(r"^point .*$", said, re.M)) == (0, []), "it would be measured again"


@pytest.mark.parametrize("seconds", [HOURS_S, -1e9], ids=["from the future", "from long ago"])
def test_rows_with_other_times_than_now_are_merged_and_not_measured_again(finished, seconds):
    kept = {path: files[0][0] for path, files in finished.complete().items()}
    for path in kept:
        for file in (path, samples_of(path)):
            then = file.stat().st_mtime + seconds
            os.utime(file, (then, then))
    (finished.folder / MERGED).unlink()
    code, said = finished.run("results/measurements.csv")
    assert code == 0, said
    assert "0 of 4 points to measure" in said
    assert {path: path.read_bytes() for path in finished.cells()} == kept
    assert len(finished.merged()) == 4
