"""The spread of several runs of the same points."""

import pytest

from studies import repeats
from tests.analysis import synthetic


@pytest.fixture
def folders(tmp_path):
    """Cells of three runs of four points: N = 256 drifts by 3 %, the others stay."""
    cells = []
    for number in range(3):
        rows = []
        for n in (256, 4096, 8192, 16384):
            factor = 1 + 0.015 * number if n == 256 else 1.0
            columns = {"aa_low": 1.001, "aa_ratio": 1.002, "aa_high": 1.003} if n == 4096 else {}
            time_us = float(synthetic.row(N=n)["time_us"]) * factor
            rows.append(synthetic.row(N=n, time_us=time_us, measure_sha256="m" * 64, **columns))
        for row in rows:
            synthetic.write_row(tmp_path / str(number), row)
        cells.append(tmp_path / str(number) / "rows")
    return cells


def test_spread_between_runs_by_length_of_the_call(folders, capsys):
    assert repeats.main([str(folder) for folder in folders]) == 0
    text = capsys.readouterr().out
    short, long = [line for line in text.splitlines() if " of " in line and "µs" in line]
    assert short.startswith("| below 5 µs | 1 | 2.96% | 2.96% | 2.96% |")
    assert long.startswith("| 10 µs and more | 3 | 0.00% | 0.00% | 0.00% |")
    assert "| 3 of 9 | 0 of 9 |" in long


def test_runs_of_other_code_are_compared_as_well(folders, capsys):
    for path in folders[1].rglob("*.csv"):
        path.write_text(
            path.read_text(encoding="utf-8").replace("m" * 64, "n" * 64), encoding="utf-8"
        )
    assert repeats.main([str(folder) for folder in folders[:2]]) == 0
    assert "| rows, rows |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("names", "error"), [(["a.csv"], "at least two"), (["a.csv", "b.csv"], "a.csv: no such file")]
)
def test_one_run_or_a_missing_run_is_an_error(names, error, tmp_path, capsys):
    assert repeats.main([str(tmp_path / name) for name in names]) == 2
    assert error in capsys.readouterr().err
