"""The frontier's goals, from rows whose answers are known."""

import math

import pandas as pd
import pytest

from studies import goals
from tests.analysis import synthetic

pytestmark = pytest.mark.slow  # an experiment that no sweep runs


def write(tmp_path, *found):
    return synthetic.write_csv(tmp_path / "frontier.csv", found)


def row(M, N, variant="frontier", **more):
    return synthetic.row(M=M, N=N, variant=variant, **more)


def rival(value):
    given = {"rival": "peer_quack", "rival_us": 10, "rival_speedup": value}
    return given | {"rival_low": value * 0.99, "rival_high": value * 1.01}


def test_every_region_names_its_worst_point(tmp_path, capsys):
    path = write(
        tmp_path,
        row(4096, 8192, of_copy=0.96, **rival(1.1)),
        row(8192, 4096, of_copy=0.94, **rival(0.9)),
        row(42966, 781, of_copy=0.91),
        row(1, 4194304, of_copy=0.5),
        row(2**20, 64, of_copy=0.99, **rival(1.3)),
        row(64, 256, of_copy=0.5, latency_us=6, speedup=1.2, **rival(1.1)),
        row(64, 256, "peer_liger", speedup=1.5, latency_us=9),
        row(64, 256, "torch_softmax", speedup=1.0, latency_us=5),
    )
    goals.main([str(path)])
    lines = capsys.readouterr().out.splitlines()
    found = {tuple(line.split(" | ")[:2]): line for line in lines[2:]}
    regular = "| 128 MB and more, N = 256 … 262144 in eights"
    assert found[regular, "≥ 0.95 of a copy"].endswith("float32 | 2 | 1 | 8192x4096 | 0.940 |")
    quack = "not slower than QuACK (interval not below 0.99)"
    assert found[regular, quack].endswith("float32 | 2 | 1 | 8192x4096 | 0.891 |")
    said = "\n".join(lines)
    assert "50257, 151937, 128 MB and more | ≥ 0.90 of a copy | float32 | 1 | 1 |" in said
    assert "| M ≤ 64, N ≥ 131072 | ≥ 0.85 of a copy | float32 | 1 | 0 | 1x4194304 | 0.500 |" in said
    assert "| N ≤ 128, M ≥ 2^20 | ≥ 0.97 of a copy | float32 | 1 | 1 |" in said
    (cached,) = (line for line in lines if line.startswith("| fits in L2"))
    assert cached.endswith("| 1 | 0 | 64x256 | 0.800 |")  # Liger is faster: 1.2 / 1.5
    (host,) = (line for line in lines if "host time" in line)
    assert host.endswith("| 1 | 1 | 64x256 | 0.833 |")
    (over_quack,) = (line for line in lines if line.startswith("| QuACK"))
    assert f"| 4 | {(1.1 * 0.9 * 1.3 * 1.1) ** 0.25:.3f} |" in over_quack


def test_a_geometric_mean_and_what_measuring_leaves_open():
    values = pd.Series([1.0, 4.0])
    mean, low, high = goals.geometric_mean(values, values * 0.99, values * 1.01)
    assert mean == pytest.approx(2.0)
    width = math.log(1.01 / 0.99)
    assert math.log(high / low) == pytest.approx(width / math.sqrt(2))


def test_a_row_without_a_time_has_reached_nothing(tmp_path, capsys):
    goals.main([str(write(tmp_path, row(1024, 131072, status="incorrect", message="gate")))])
    found = [line for line in capsys.readouterr().out.splitlines() if "incorrect" in line]
    assert len(found) == 4  # of a copy twice, QuACK, host time
    assert all(line.endswith("| float32 | 1 | 0 | 1024x131072 | incorrect |") for line in found)


def test_nobody_is_beaten_who_did_not_run(tmp_path, capsys):
    path = write(tmp_path, row(64, 256, speedup=1.2), row(64, 256, "torch_softmax", speedup=1.0))
    goals.main([str(path)])
    (cached,) = (s for s in capsys.readouterr().out.splitlines() if s.startswith("| fits in L2"))
    assert cached.endswith("| float32 | 1 | 0 | 64x256 | not all ran |")


def test_a_table_without_such_rows_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        goals.main([str(write(tmp_path, row(64, 256, "triton_row")))])
    assert "no rows of frontier" in capsys.readouterr().err
