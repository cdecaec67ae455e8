"""profiles/slurm on a real Slurm with fake GPUs: who measures what, and what is left of a cut."""

import csv
import itertools
import os
import signal
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from tests.slurm import lab as slurm
from tests.slurm.sweeps import TABLE, VARIANTS, Sweep, ended

# one cluster, though several processes run tests
pytestmark = [pytest.mark.xdist_group("slurm"), pytest.mark.slow]
SIZES = [8, 13, 21]
MINUTES = 3  # for a point, with the default time-out of 120 s


class Played(NamedTuple):
    """A sweep called twice: (return code, text) of both calls, and what lay there in between."""

    sweep: Sweep
    first: tuple[int, str]
    rows: dict[str, int]  # point -> mtime
    second: tuple[int, str]
    measured: list[str]  # by the second call


def called_again(sweep, run):
    first = ended(run)
    rows = {point: path.stat().st_mtime_ns for point, path in sweep.rows().items()}
    before = len(sweep.visits())
    (sweep.folder / "hold").unlink(missing_ok=True)
    second = sweep("--until", "merge")
    return Played(sweep, first, rows, second, [v["point"] for v in sweep.visits()[before:]])


def wait_for_cancelled(sweep, number):
    """Until Slurm has ended an allocation that was cancelled."""
    ends = {"JobId": number, "JobState": "CANCELLED"}
    slurm.until(lambda: any(job.items() >= ends.items() for job in sweep.jobs()), 60, "its end")


def out_of_time(lab, folder):
    sweep = Sweep(folder, lab, ["a100"], [8])
    # one minute for all; Slurm knows no less
    expression = "1 if wildcards.variant == 'torch_jit' else 0"
    sweep.set_profile("set-resources", "point", "runtime", value=expression)
    return called_again(sweep, sweep.start_and_hold(after=2))


def outdated(lab, folder):
    """All is measured; then the kernels are edited, and the next call is cut."""
    sweep = Sweep(folder, lab, ["h200"], [8])
    assert sweep("--until", "merge")[0] == 0
    sweep.edit_kernels()
    run = sweep.start_and_hold(after=2)
    lab.tell("scancel", sweep.jobs()[-1]["JobId"])
    return called_again(sweep, run)


def two_types(lab, folder):
    sweep = Sweep(folder, lab, ["auto"], SIZES)
    (folder / "crash").write_text("torch_naive")
    named = ("--config", "gpus=[a100, h200]")
    return Played(sweep, sweep(*named), {}, sweep(*named), [])


def cancelled(lab, folder):
    """One of two allocations is."""
    sweep = Sweep(folder, lab, ["a100", "h200"], [8])
    run = sweep.start_and_hold(after=2)
    one = {"TresPerNode": "gres:gpu:a100:1"}
    (number,) = [job["JobId"] for job in sweep.jobs() if job.items() >= one.items()]
    lab.tell("scancel", number)
    wait_for_cancelled(sweep, number)
    sweep.release()
    return called_again(sweep, run)


def interrupted(lab, folder):
    sweep = Sweep(folder, lab, ["h200"], [8])
    run = sweep.start_and_hold(after=2)
    (job,) = sweep.jobs()
    run.send_signal(signal.SIGINT)  # upon which it cancels what it has submitted
    wait_for_cancelled(sweep, job["JobId"])
    return called_again(sweep, run)


def killed(lab, folder):
    """Snakemake is killed, and its allocation runs on until somebody cancels it."""
    sweep = Sweep(folder, lab, ["h200"], [8])
    run = sweep.start_and_hold(after=2)
    run.kill()
    run.wait()
    (job,) = sweep.jobs()
    lab.tell("scancel", job["JobId"])
    wait_for_cancelled(sweep, job["JobId"])  # or the held point would go on
    assert sweep("--unlock")[0] == 0
    return called_again(sweep, run)


def requeued(lab, folder):
    sweep = Sweep(folder, lab, ["a100"], [8])
    run = sweep.start_and_hold(after=2)
    lab.tell("scontrol", "requeue", sweep.jobs()[0]["JobId"])
    sweep.release()
    return called_again(sweep, run)


def node_lost(lab, folder):
    sweep = Sweep(folder, lab, ["l40s"], [8])
    run = sweep.start_and_hold(after=2)
    lab.lose("node3")
    slurm.until(lambda: sweep.jobs()[0]["JobState"] == "PENDING", 90, "a job that waits again")
    sweep.release()
    lab.bring_back("node3")
    return called_again(sweep, run)


SCENES = (out_of_time, outdated, two_types, node_lost, requeued, cancelled, interrupted, killed)


@pytest.fixture(scope="module")
def lab():
    """The cluster of this module."""
    if reason := slurm.lacks():
        if os.environ.get("CI"):
            pytest.fail(f"{reason}; CI is set, and .ci/run installs what is needed")
        pytest.skip(reason)
    if not slurm.can_fake_gpus():  # nothing that .ci/run could put right
        pytest.skip("device files, which stand for GPUs, may not be made here")
    with slurm.Lab() as running:
        yield running


@pytest.fixture(scope="module")
def played(lab, tmp_path_factory):
    """Map a scene to its outcome. All are played at once: most of their time is waiting."""
    with ThreadPoolExecutor(len(SCENES)) as pool:
        futures = {
            scene: pool.submit(scene, lab, tmp_path_factory.mktemp(scene.__name__) / "project")
            for scene in SCENES
        }
        yield lambda scene: futures[scene].result()


@pytest.fixture
def by_job(played):
    """Job of the sweep over two types -> its points, in the order in which they began."""
    found = defaultdict(list)
    for visit in played(two_types).sweep.visits():
        found[visit["job"]].append(visit)
    return dict(found)


def test_points_are_measured_on_a_gpu_of_their_type(played):
    visits = played(two_types).sweep.visits()
    assert (
        len({visit["point"] for visit in visits}) == len(visits) == 2 * len(SIZES) * len(VARIANTS)
    )
    on = {(visit["point"].split("/")[0], visit["node"]) for visit in visits}
    assert on == {("a100", "node1"), ("h200", "node2")}


def test_an_allocation_has_as_many_points_as_the_table_says(played, by_job):
    counts = {"node1": [], "node2": []}
    for visits in by_job.values():
        counts[visits[0]["node"]].append(len(visits))
    assert {node: sorted(found) for node, found in counts.items()} == {
        "node1": [2, 5, 5],  # 12 points, at most 5 together
        "node2": [12],
    }
    assert len(played(two_types).sweep.jobs()) == len(by_job)


def test_an_allocation_asks_for_one_gpu_in_the_words_of_the_table_and_for_time_enough(
    played, by_job
):
    for job in played(two_types).sweep.jobs():
        visits = by_job[job["JobId"]]
        line = TABLE[visits[0]["point"].split("/")[0]]
        assert job["TresPerNode"] == f"gres:{line['gres']}"
        assert job["Partition"] == line.get("partition", "all")
        assert job["Features"] == line.get("constraint", "(null)")
        assert (job["NumNodes"], job["NumCPUs"], job["MinMemoryNode"]) == ("1", "4", "16000M")
        hours, minutes, seconds = map(int, job["TimeLimit"].split(":"))
        assert (60 * hours + minutes, seconds) == (MINUTES * len(visits), 0)


def test_points_of_an_allocation_follow_one_another_on_one_gpu(by_job):
    for visits in by_job.values():
        assert len({visit["gpus"] for visit in visits}) == 1
        assert visits[0]["gpus"].isdigit()  # one index, no list
        for before, after in itertools.pairwise(visits):
            assert before["end"] <= after["begin"]


def test_allocations_at_the_same_time_have_gpus_of_their_own(by_job):
    spans = [
        (visits[0]["node"], visits[0]["gpus"], visits[0]["begin"], visits[-1]["end"])
        for visits in by_job.values()
    ]
    for (*gpu, begin, end), (*other, other_begin, other_end) in itertools.combinations(spans, 2):
        if begin < other_end and other_begin < end:
            assert gpu != other


def test_a_point_that_crashes_is_a_row_and_takes_no_other_down(played):
    statuses = Counter()
    for path in played(two_types).sweep.rows().values():
        with path.open(newline="") as file:
            (row,) = csv.DictReader(file)
        statuses[row["variant"] == "torch_naive", row["status"]] += 1
    assert statuses == {(True, "crash"): 2 * len(SIZES), (False, "ok"): 6 * len(SIZES)}


def test_two_types_end_in_one_report_and_the_second_call_has_nothing_to_do(played):
    sweep, first, _, second, _ = played(two_types)
    assert first[0] == 0, first[1]
    report = (sweep.folder / "results/report.md").read_text()
    assert "NVIDIA A100-SXM4-80GB" in report
    assert "NVIDIA H200" in report
    with (sweep.folder / "results/measurements.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert Counter(row["gpu"] for row in rows) == {"a100": 12, "h200": 12}
    assert second[0] == 0, second[1]
    assert "Nothing to be done" in second[1]


@pytest.mark.parametrize(
    ("scene", "state"),
    [
        (out_of_time, "TIMEOUT"),
        (cancelled, "CANCELLED"),
        (interrupted, "CANCELLED"),
        (killed, "CANCELLED"),
    ],
)
def test_a_cut_keeps_what_was_measured_and_the_same_call_measures_the_rest(played, scene, state):
    sweep, first, rows, second, measured = played(scene)
    assert state in {job["JobState"] for job in sweep.jobs()}
    assert first[0] != 0
    before = sweep.visits()[: -len(measured)]
    assert set(rows) == {visit["point"] for visit in before if "end" in visit}
    assert len(rows) >= 2
    assert second[0] == 0, second[1]
    assert sorted(measured) == sorted(set(sweep.rows()) - set(rows))
    assert {point: sweep.rows()[point].stat().st_mtime_ns for point in rows} == rows


def test_the_other_allocations_go_on(played):
    rows = played(cancelled).rows
    assert len([point for point in rows if point.startswith("h200")]) == 4
    assert len(rows) < 8


@pytest.mark.parametrize("scene", [requeued, node_lost])
def test_slurm_starts_an_allocation_again_and_snakemake_waits_for_it(played, scene):
    sweep, first, rows, second, measured = played(scene)
    (job,) = sweep.jobs()
    assert (job["JobState"], job["Restarts"]) == ("COMPLETED", "1")
    assert first[0] == 0, first[1]
    assert len(rows) == 4
    assert second[0] == 0, second[1]
    assert measured == []


def test_outdated_rows_do_not_outlive_a_cut(played):
    sweep, first, rows, second, measured = played(outdated)
    assert first[0] != 0
    assert len(rows) == 3  # two new ones, and an old one whose turn had not come
    assert second[0] != 0
    assert len(measured) == 1
    refused = (sweep.folder / "results/logs/merge/h200.log").read_text()
    (old,) = (path for path in sweep.rows().values() if path.stem in refused)
    assert "other code or settings" in refused
    old.unlink()
    code, text = sweep("--until", "merge")
    assert code == 0, text
    assert len(sweep.rows()) == 4
