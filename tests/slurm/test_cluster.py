"""profiles/slurm on a real Slurm with fake GPUs: who measures what, and what is left of a cut."""

import itertools
import os
import signal
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from tests.processes import until
from tests.slurm import lab as slurm
from tests.slurm.sweeps import REQUESTS, VARIANTS, Sweep
from tests.workflow.runner import UNTIL_MERGED, read_csv

# one cluster, though several processes run tests
pytestmark = [pytest.mark.xdist_group("slurm"), pytest.mark.slow]
SIZES = [8, 13, 21]
OF_A_MATRIX = 2 * len(VARIANTS)  # points: each variant has two replicates
MINUTES = 3  # Minutes for a point, with the default time-out of 120 s.


class Played(NamedTuple):
    """A sweep called twice: (return code, text) of both calls, and what lay there in between."""

    sweep: Sweep
    first: tuple[int, str]
    rows: dict[str, int]  # point -> mtime
    second: tuple[int, str]
    measured: list[str]  # the second call measures them


def cut(fault, *gpus):
    """The scene of a sweep that is cut while its third point is measured, and called again."""

    def scene(lab, folder):
        sweep = Sweep(folder, lab, [*gpus], [8])
        run = sweep.start_and_hold(after=2)
        fault(sweep, run)
        first = run.wait(400), sweep.printed()
        rows, before = sweep.times(), len(sweep.visits())
        sweep.release()
        second = sweep.run(*UNTIL_MERGED)
        return Played(sweep, first, rows, second, [v["point"] for v in sweep.visits()[before:]])

    return scene


def until_cancelled(sweep, name):
    ends = {"JobId": name, "JobState": "CANCELLED"}
    until(lambda: any(job.items() >= ends.items() for job in sweep.allocations()), 60)


def cancel_one(sweep, run=None):
    (name, *_) = [job["JobId"] for job in sweep.allocations() if "l40s" not in job["TresPerJob"]]
    sweep.lab.tell("scancel", name)
    until_cancelled(sweep, name)  # or the held point would go on
    sweep.release()


def interrupt(sweep, run):
    """Upon which Snakemake cancels what it has submitted."""
    run.send_signal(signal.SIGINT)
    until_cancelled(sweep, sweep.allocations()[0]["JobId"])


def kill(sweep, run):
    """Upon which the allocation runs on until somebody cancels it."""
    run.kill()
    run.wait()
    cancel_one(sweep)
    sweep("--unlock")


def requeue(sweep, run):
    sweep.lab.tell("scontrol", "requeue", sweep.allocations()[0]["JobId"])
    sweep.release()


def two_types(lab, folder):
    sweep = Sweep(folder, lab, ["auto"], SIZES, replicates=2)
    named = ("--config", "gpus=[a100, h200]")
    return Played(sweep, sweep.run(*named), {}, sweep.run(*named), [])


SCENES = {
    "two types": two_types,
    "cancelled": cut(cancel_one, "a100", "l40s"),
    "interrupted": cut(interrupt, "h200"),
    "killed": cut(kill, "h200"),
    "requeued": cut(requeue, "a100"),
}


@pytest.fixture(scope="module")
def lab():
    """The cluster of this module."""
    if reason := slurm.lacks():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with slurm.Lab() as running:
        yield running


@pytest.fixture(scope="module")
def played(lab, tmp_path_factory):
    """Map a scene to its outcome. All are played at once: most of their time is waiting."""
    with ThreadPoolExecutor(len(SCENES)) as pool:
        futures = {
            name: pool.submit(scene, lab, tmp_path_factory.mktemp("scene") / "project")
            for name, scene in SCENES.items()
        }
        yield lambda scene: futures[scene].result()


@pytest.fixture
def by_job(played):
    """Job of the sweep over two types -> its points, in the order in which they began."""
    found = defaultdict(list)
    for visit in played("two types").sweep.visits():
        found[visit["job"]].append(visit)
    return dict(found)


def test_an_allocation_has_the_points_of_one_matrix(played, by_job):
    nodes = Counter()
    for visits in by_job.values():
        (matrix,) = {visit["point"].rpartition("/")[0] for visit in visits}
        assert len(visits) == OF_A_MATRIX, matrix
        nodes[visits[0]["node"]] += 1
    assert nodes == {"node1": len(SIZES), "node2": len(SIZES)}
    assert len(played("two types").sweep.allocations()) == len(by_job)
    points = [(v["point"], v["node"]) for visits in by_job.values() for v in visits]
    assert len(set(points)) == len(points), "each point once"
    assert {(p.split("/")[0], node) for p, node in points} == {("a100", "node1"), ("h200", "node2")}


def test_an_allocation_requests_one_gpu_as_the_profile_says_and_time_enough(played, by_job):
    for job in played("two types").sweep.allocations():
        visits = by_job[job["JobId"]]
        models, partitions, constraints = REQUESTS.values()
        gpu = visits[0]["point"].split("/")[0]
        model = f":{models[gpu]}" if gpu in models else ""
        assert job["TresPerJob"] == f"gres:gpu{model}:1"
        assert job["Partition"] == partitions.get(gpu, "all")
        assert job["Features"] == constraints.get(gpu, "(null)")
        assert (job["NumNodes"], job["NumCPUs"], job["MinMemoryNode"]) == ("1", "4", "16000M")
        hours, minutes, seconds = map(int, job["TimeLimit"].split(":"))
        assert (60 * hours + minutes, seconds) == (MINUTES * len(visits), 0)


def test_points_of_an_allocation_follow_one_another_on_one_gpu_that_no_other_has(by_job):
    spans = []
    for visits in by_job.values():
        assert len({visit["gpus"] for visit in visits}) == 1
        assert visits[0]["gpus"].isdigit()  # one index, no list
        for before, after in itertools.pairwise(visits):
            assert before["end"] <= after["begin"]
        gpu = (visits[0]["node"], visits[0]["gpus"])
        spans.append((gpu, visits[0]["begin"], visits[-1]["end"]))
    for (gpu, begin, end), (other_gpu, other_begin, other_end) in itertools.combinations(spans, 2):
        assert gpu != other_gpu or end <= other_begin or other_end <= begin


def test_two_types_end_in_one_report_and_the_second_call_has_nothing_to_do(played):
    """Also with a kernel that crashes: that is a row, and takes no other down."""
    sweep, first, _, second, _ = played("two types")
    assert first[0] == 0, first[1]
    report = (sweep.folder / "results/report.md").read_text(encoding="utf-8")
    assert "NVIDIA A100" in report
    assert "NVIDIA H200" in report
    rows = read_csv(sweep.folder / "results/measurements.csv")
    found = Counter((row["gpu"], row["variant"] == "torch_naive", row["status"]) for row in rows)
    one, others = len(SIZES) * 2, len(SIZES) * (OF_A_MATRIX - 2)
    crashed = {(gpu, True, "crash"): one for gpu in ("a100", "h200")}
    assert found == crashed | {(gpu, False, "ok"): others for gpu in ("a100", "h200")}
    assert second[0] == 0, second[1]
    assert "Nothing to be done" in second[1]


@pytest.mark.parametrize("scene", ["cancelled", "interrupted", "killed"])
def test_a_cut_keeps_what_was_measured_and_the_same_call_measures_the_rest(played, scene):
    sweep, first, rows, second, measured = played(scene)
    assert first[0] != 0
    before = sweep.visits()[: -len(measured)]
    assert set(rows) == {visit["point"] for visit in before if "end" in visit}
    assert len(rows) >= 2
    assert second[0] == 0, second[1]
    assert sorted(measured) == sorted(sweep.times().keys() - rows.keys())
    assert sweep.times().items() >= rows.items()


def test_the_other_allocations_go_on(played):
    rows = played("cancelled").rows
    assert len([point for point in rows if point.startswith("l40s")]) == 4
    assert len(rows) < 8


def test_slurm_starts_an_allocation_again_and_snakemake_waits_for_it(played):
    sweep, first, rows, second, measured = played("requeued")
    (job,) = sweep.allocations()
    assert (job["JobState"], job["Restarts"]) == ("COMPLETED", "1")
    assert first[0] == 0, first[1]
    assert len(rows) == 4
    assert second[0] == 0, second[1]
    assert measured == []
