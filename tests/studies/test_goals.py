"""The frontier's goals, from rows whose answers are known."""

import pytest

from studies.frontier import goals
from tests.analysis import synthetic


def write(tmp_path, *rows):
    return synthetic.write_csv(tmp_path / "frontier.csv", rows)


def row(M, N, variant="frontier", **more):
    return synthetic.row(M=M, N=N, variant=variant, **more)


def quack(M, N, over):
    """A row of QuACK that is as many times slower over torch as `over` says."""
    return row(M, N, "peer_quack", **speedup(1 / over))


def speedup(value):
    return {"speedup": value, "speedup_low": value, "speedup_high": value}


def test_every_region_names_its_worst_point(tmp_path, capsys):
    path = write(
        tmp_path,
        row(4096, 8192, of_copy=0.96, **speedup(1.0)),
        quack(4096, 8192, 1.1),
        row(8192, 4096, of_copy=0.94, **speedup(1.0)),
        quack(8192, 4096, 0.9),
        row(42966, 781, of_copy=0.91),
        row(1, 4194304, of_copy=0.5),
        row(2**20, 64, of_copy=0.99, **speedup(1.0)),
        quack(2**20, 64, 1.3),
        row(64, 256, of_copy=0.5, latency_us=6, **speedup(1.2)),
        quack(64, 256, 1.1),
        row(64, 256, "peer_liger", speedup=1.5, latency_us=9),
        row(64, 256, "torch_softmax", speedup=1.0, latency_us=5),
    )
    goals.main([str(path)])
    lines = capsys.readouterr().out.splitlines()
    ends = (
        "≥ 0.95 of a copy | float32 | 2 | 1 | 8192x4096 | 0.940 |",
        "not below 0.99) | float32 | 2 | 1 | 8192x4096 | 0.88",  # the interval's end
        "| M ≤ 64, N ≥ 131072 | ≥ 0.85 of a copy | float32 | 1 | 0 | 1x4194304 | 0.500 |",
        "| N ≤ 128, M ≥ 2^20 | ≥ 0.97 of a copy | float32 | 1 | 1 | 1048576x64 | 0.990 |",
        "151937, 128 MB and more | ≥ 0.90 of a copy | float32 | 1 | 1 | 42966x781 | 0.910 |",
        "torch and Liger (≥ 0.99) | float32 | 1 | 0 | 64x256 | 0.800 |",  # Liger: 1.2 / 1.5
        "ours ≥ 0.67) | float32 | 1 | 1 | 64x256 | 0.833 |",
    )
    for end in ends:
        assert sum(end in line for line in lines) == 1, end
    (over_quack,) = (line for line in lines if line.startswith("| QuACK"))
    assert f"| 4 | {(1.1 * 0.9 * 1.3 * 1.32) ** 0.25:.3f} |" in over_quack


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"status": "incorrect", "message": "gate"}, "incorrect"),
        ({"flags": "faster_than_copy"}, "not ranked"),
    ],
)
def test_a_row_without_a_valid_time_misses_its_goals(given, word, tmp_path, capsys):
    goals.main([str(write(tmp_path, row(1024, 131072, **given)))])
    lines = [line for line in capsys.readouterr().out.splitlines() if "1024x131072" in line]
    assert len(lines) == 4  # of a copy twice, QuACK, host time
    assert all(line.endswith(f"| float32 | 1 | 0 | 1024x131072 | {word} |") for line in lines)


@pytest.mark.parametrize(("gpu", "fits"), [("h100", 0), ("h200", 1)])
def test_the_cache_is_that_of_the_gpu(gpu, fits, tmp_path, capsys):
    liger = row(1664, 4096, "peer_liger", gpu=gpu)  # 54.5 MB are moved
    goals.main([str(write(tmp_path, row(1664, 4096, gpu=gpu), liger))])
    assert capsys.readouterr().out.count("best of torch and Liger") == fits


def test_a_gpu_whose_cache_is_unknown_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        goals.main([str(write(tmp_path, row(64, 256, gpu="a100")))])
    assert "add it to CACHE_MB" in capsys.readouterr().err


def test_a_table_without_such_rows_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        goals.main([str(write(tmp_path, row(64, 256, "triton_row")))])
    assert "no rows of frontier" in capsys.readouterr().err
