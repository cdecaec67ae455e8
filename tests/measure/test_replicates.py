"""A further replicate repeats the timing, and not what the first has checked."""

import pytest

from tests.bench import kernel


@pytest.mark.parametrize(("act", "flags"), [("pass", ""), ("y.nan_to_num_(0)", "edge_cases")])
def test_what_the_first_replicate_has_checked_is_not_checked_again(bench, tmp_path, act, flags):
    bench.add("odd", kernel(act))
    # The smallest matrix is in any CPU's cache.
    first, second, done = bench.replicates("odd", M=1, N=1)
    for row in (first, second):
        chosen = {*row["flags"].split()} - {"aa_biased", "noisy"}  # a busy CPU may add these
        expected = "ok", {"not_cold", *flags.split()}, "6"
        assert (row["status"], chosen, row["n_samples"]) == expected
        assert float(row["max_abs_error"]) < 1e-6
    assert second["message"] == first["message"]
    assert bool(first["message"]) == bool(flags)
    assert second["order_seed"] != first["order_seed"]
    assert (first["warm_us"] != "", second["warm_us"]) == (True, "")
    assert "edge cases" not in done.stderr
    assert "correctness check after timing" in done.stderr


def test_what_could_not_be_timed_is_not_tried_again(bench, tmp_path):
    bench.add("fails", kernel(f"open({str(tmp_path / 'calls')!r}, 'a').write('.'); return None"))
    first, second, _ = bench.replicates("fails")
    assert (first["status"], first["replicate"]) == ("incorrect", "1")
    assert second["replicate"] == "2"
    assert second["message"] == f"repeated from replicate 1: {first['message']}"
    changed = {"message", "replicate", "started_at", "wall_s"}
    assert {k for k in first if first[k] != second[k]} <= changed
    assert len((tmp_path / "calls").read_text(encoding="utf-8")) == 2, (
        "those of the first replicate"
    )


def test_memory_that_was_missing_may_be_there_for_the_next_replicate(bench, tmp_path):
    called = str(tmp_path / "called")
    act = f"if not os.path.exists({called!r}):\n    open({called!r}, 'w')\n    raise MemoryError"
    bench.add("once", kernel(act))
    first, second, done = bench.replicates("once")
    assert (first["status"], second["status"]) == ("out_of_memory", "ok")
    assert "edge cases" in done.stderr


def test_the_row_of_another_point_is_refused(bench, tmp_path):
    _, second, done = bench.replicates("torch_softmax", {"N": 95})
    assert (second, "its N is 96, not 95" in done.stderr) == (None, True)
    row, done = bench.run("torch_softmax", replicate=2, checked="nowhere.csv")
    assert (row, "No such file" in done.stderr) == (None, True)


def test_a_row_is_not_measured_for_another_plan(bench):
    row, done = bench.run("torch_softmax", fingerprint="00000000")
    assert row is None
    assert done.returncode == 2
    assert "error: the row was planned for other code or packages than this" in done.stderr
    assert bench.row("torch_softmax", fingerprint="")["fingerprint"]
