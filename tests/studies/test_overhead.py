"""What a point costs beside the measuring, from what a sweep leaves behind."""

import pytest

from studies import overhead
from tests.analysis import synthetic

pytestmark = pytest.mark.slow  # an experiment that no sweep runs

WORKER = (
    "  0.000 s  importing torch\n  0.010 s  opening the device\n  0.300 s  loading the variant\n"
    "  0.400 s  first call\n  1.400 s  timing\n  2.400 s  done\n"
)


@pytest.fixture
def results(tmp_path):
    """Of three points, one every 4 s, after an earlier run of one."""
    lines = ["2026-11-21 15:00:00 1 of 1 points: ok, of an earlier run"]
    for number, n in enumerate((256, 512, 1024), 1):
        row = synthetic.row(gpu="h200", N=n, wall_s=3.0)
        synthetic.write_cell(tmp_path, row)
        log = tmp_path / f"logs/points/h200/softmax/float32/uniform/M1024/N{n}/triton_online.log"
        log.parent.mkdir(parents=True)
        log.write_text(WORKER)
        lines.append(f"2026-11-21 16:00:{4 * number:02} {number} of 3 points: ok, of this run")
    (tmp_path / "logs/progress.log").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_the_cost_of_a_point_adds_up(results):
    points, whole, measuring, beyond, *parts = overhead.costs([results]).values()
    assert points == 2  # when the first began is not known
    assert whole == 4.0
    assert measuring == pytest.approx(2.0)
    assert beyond == pytest.approx(2.0)
    assert parts == pytest.approx([0.4, 0.6, 1.0])
    assert sum(parts) == pytest.approx(beyond)


def test_one_point_is_too_few(results, capsys):
    path = results / "logs/progress.log"
    path.write_text(path.read_text().splitlines()[0])
    assert overhead.main(["read", str(results), "--output", str(results / "costs.csv")]) == 2
    assert not (results / "costs.csv").exists()
    assert "fewer than two ok points" in capsys.readouterr().err


def test_several_folders_count_as_one_run(results):
    one, two = overhead.costs([results]), overhead.costs([results, results])
    assert two.pop(overhead.POINTS) == 2 * one.pop(overhead.POINTS)
    assert two == pytest.approx(one)


def test_two_runs_are_shown_side_by_side(results, capsys):
    files = [results / "served.csv", results / "fresh.csv"]
    for file in files:
        assert overhead.main(["read", str(results), "--output", str(file)]) == 0
    assert overhead.main(["table", "--data", *map(str, files)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| what | served: s, mean of 2 | fresh: s, mean of 2 |"
    assert "| the measuring itself | 2.00 | 2.00 |" in lines
