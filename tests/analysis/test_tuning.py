"""From the rows of the tuning sweep to the table by which the frontier chooses."""

import pytest
import yaml

from analysis import InputError
from analysis.merge import merge_rows
from analysis.tuning import COLUMNS, write
from tests.analysis import synthetic

HEAD = ",".join(COLUMNS) + "\n"
FAST, SLOW, PARTIAL = "frontier_rows__k4w16", "frontier_rows__k2w16", "frontier_short__u1"


def merged(tmp_path, rows, sweep="tuning"):
    merge_rows([synthetic.write_row(tmp_path, row) for row in rows], sweep, tmp_path / "h200.csv")
    return tmp_path / "h200.csv"


def row(variant, M, speedup, N=1024, **more):
    return synthetic.row(variant=variant, M=M, N=N, speedup=speedup, of_copy=0.9, **more)


def test_the_winner_is_fastest_over_all_M_and_its_lead_is_said(tmp_path):
    rows = [
        *(row(FAST, M, 2.0) for M in (16, 1024)),
        row(SLOW, 16, 2.2),
        row(SLOW, 1024, 1.0),
        row(PARTIAL, 16, 9.0),  # not timed at the other M
        row("frontier", 16, 9.0),
        row("torch_softmax", 16, 9.0),
        row(SLOW, 16, 3.0, N=2048),
        row(FAST, 16, 4.0, N=2048, status="incorrect"),
    ]
    chosen, about = write([merged(tmp_path, rows)], tmp_path / "out", "make tuning")
    assert (chosen.name, about.name) == ("h200.csv", "h200.yaml")
    first, second = synthetic.read_csv(chosen)
    assert (first["N"], first["variant"], first["runner_up"]) == ("1024", FAST, SLOW)
    assert float(first["lead"]) == pytest.approx(2.0 / (2.2 * 1.0) ** 0.5, rel=1e-3)
    assert (first["points"], first["speedup"], first["of_copy"]) == ("2", "2", "0.9")
    assert (second["N"], second["variant"], second["runner_up"]) == ("2048", SLOW, "")
    facts = yaml.safe_load(about.read_text())
    assert facts["command"] == "make tuning"
    assert facts["rows_by_status"] == {"incorrect": 1, "ok": 6}
    assert facts["gpu_name"] == first["gpu_name"]


def test_rows_of_another_sweep_are_not_for_tuning(tmp_path):
    path = merged(tmp_path, [row(FAST, 16, 2.0)], sweep="online_softmax")
    with pytest.raises(InputError, match="make tuning"):
        write([path], tmp_path / "out", "make tuning")
    assert not (tmp_path / "out").exists()


def test_the_tables_variant_stays_until_another_is_clearly_ahead(tmp_path):
    out = tmp_path / "out"
    write([merged(tmp_path / "before", [row(SLOW, 16, 2.0, N=N) for N in (1024, 2048)])], out, "x")
    now = [row(SLOW, 16, 2.0, N=N) for N in (1024, 2048)]
    now += [row(FAST, 16, 2.01), row(FAST, 16, 3.0, N=2048)]
    write([merged(tmp_path / "now", now)], out, "y")
    stays, changes = synthetic.read_csv(out / "h200.csv")
    assert (stays["variant"], stays["runner_up"], stays["lead"]) == (SLOW, FAST, "0.995")
    assert (changes["variant"], changes["lead"]) == (FAST, "1.5")


def test_other_sizes_are_kept_with_their_provenance(tmp_path):
    out = tmp_path / "out"
    before = [row(FAST, 16, 2.0, N=N) for N in (512, 1024, 10240)]
    write([merged(tmp_path / "before", before)], out, "make tuning")
    kept, _, last = synthetic.read_csv(out / "h200.csv")
    facts = yaml.safe_load((out / "h200.yaml").read_text())
    now = [merged(tmp_path / "now", [row(SLOW, 16, 3.0, N=N) for N in (1024, 2048)])]
    write(now, out, "make tuning of two sizes")
    lines = synthetic.read_csv(out / "h200.csv")
    assert [line["N"] for line in lines] == ["512", "1024", "2048", "10240"]
    assert [lines[0], lines[3]] == [kept, last]
    said = yaml.safe_load((out / "h200.yaml").read_text())
    assert (said["command"], said["rows"]) == ("make tuning of two sizes", 2)
    assert said["kept"] == {"lines": 2} | facts


@pytest.mark.parametrize(("table", "about"), [(HEAD, "{"), ("N,variant\n1,a\n", "rows: 1\n")])
def test_a_broken_table_is_an_error_and_stays(table, about, tmp_path):
    out, path = tmp_path / "out", merged(tmp_path, [row(FAST, 16, 2.0)])
    out.mkdir()
    there = {"h200.csv": table, "h200.yaml": about}
    for name, text in there.items():
        (out / name).write_text(text)
    with pytest.raises(InputError, match="broken"):
        write([path], out, "make tuning")
    assert {entry.name: entry.read_text() for entry in out.iterdir()} == there
