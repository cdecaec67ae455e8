"""Two sweeps in one folder: the second is refused, and the first does not notice."""

from tests.faults.sweeps import MERGED, configure
from tests.processes import until
from tests.workflow.runner import UNTIL_MERGED

WAITS = "open('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.02)"


def test_the_second_sweep_is_refused_and_the_first_goes_on(sweep):
    sweep.write_kernel("waits", WAITS)
    configure(sweep.folder, variants=["waits"], shapes=[{"M": 4, "N": [8, 13]}], timeout_s=60)
    first = sweep.start(*UNTIL_MERGED)
    until((sweep.folder / "begun").exists)
    before = sweep.processes()
    code, printed = sweep.run(*UNTIL_MERGED)
    assert code != 0
    assert "Directory cannot be locked" in printed
    assert "Traceback" not in printed
    code, printed = sweep.run("--dry-run")
    assert code == 0, printed
    assert set(before) <= set(sweep.processes())
    assert sweep.rows() == []
    (sweep.folder / "go").touch()
    assert first.wait() == 0
    assert sweep.statuses() == sweep.merged() == {("waits", "8"): "ok", ("waits", "13"): "ok"}
    until(sweep.nothing_runs)
    (sweep.folder / MERGED).unlink()
    code, printed = sweep.run(*UNTIL_MERGED)
    assert code == 0, printed
