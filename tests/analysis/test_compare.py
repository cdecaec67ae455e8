"""`compare` as a person uses it: what it reads, refuses, prints, writes, and how it exits."""

import gzip
import re

import pytest

from analysis import __main__ as cli
from analysis.merge import collect, merge_cells
from tests.analysis import compared, synthetic

VARIANTS, SIZES = ["torch_softmax", "triton_row", "triton_online"], [1024, 2048, 4096]


@pytest.fixture
def lines():
    return compared.rows(VARIANTS, SIZES)


def compare(capsys, *arguments):
    code = cli.main(["compare", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def tables(folder, old, new, slower=None):
    return (
        compared.write_table(folder / "old.csv", old, 1),
        compared.write_table(folder / "new.csv", new, 2, slower),
    )


def test_cells_and_the_recorded_table_of_one_run_are_the_same(tmp_path, capsys, lines):
    lines.append(synthetic.row(status="unsupported", variant="triton_fused", message="no"))
    cells = compared.write_cells(tmp_path, lines, 1)
    table = compared.write_table(tmp_path / "a.csv", lines, 1)
    code, out, _ = compare(capsys, cells, table)
    assert (code, out.splitlines()[0]) == (0, "**9 same, 1 ok in neither of 10 points: passed.**")


def collected(folder, lines, seed, unranked=(), recorded=()):
    """measurements.csv of a run, with its cells beside it."""
    cells = compared.write_cells(folder, lines, seed)
    merge_cells(cells.rglob("*.csv"), "mine", folder / "h200.csv")
    collect([folder / "h200.csv"], recorded, folder / "measurements.csv", unranked)
    return cells, folder / "measurements.csv"


def test_measurements_and_its_cells_are_the_same(tmp_path, capsys, lines):
    other = [row | {"gpu": "a100"} for row in lines]
    recorded = synthetic.write_csv(tmp_path / "recorded" / "a100" / "mine.csv", other)
    cells, table = collected(tmp_path, lines, 1, recorded=[recorded])
    code, out, _ = compare(capsys, cells, table)
    # the recorded rows of the other GPU were not measured by this run
    assert (code, out.splitlines()[0]) == (0, "**9 same of 9 points: passed.**")
    assert "in NEW only" not in out


def test_measurements_say_which_rows_rank(tmp_path, capsys, lines):
    lines[4]["flags"] = "throttled"
    (_, old), (_, new) = (
        collected(tmp_path / str(seed), lines, seed, unranked)
        for seed, unranked in ((1, []), (2, ["throttled"]))
    )
    _, out, _ = compare(capsys, old, new)
    assert out.count("not ranked in NEW: flagged throttled |") == 1
    assert "ranked in OLD" not in out
    assert "ranked" not in compare(capsys, old, old)[1]


def test_measurements_without_cells_or_measured_rows_are_refused(tmp_path, capsys, lines):
    cells, table = collected(tmp_path, lines[:1], 1)
    cells.rename(tmp_path / "elsewhere")
    code, _, err = compare(capsys, table, table)
    assert code == 2
    assert f"{cells}/h200/" in err
    assert "samples.csv.gz: no such file, but the row has times" in err
    collect([], [], table)
    assert "no rows to compare" in compare(capsys, table, table)[2]


def test_slower_exits_with_1_beyond_the_threshold_only(tmp_path, capsys, lines):
    slow = compared.point(lines[4])
    both = tables(tmp_path, lines, lines, {slow: 1.05})
    code, out, err = compare(capsys, *both)
    assert code == 1
    assert out.startswith("**1 slower, ")
    assert "1 point failed" in out.splitlines()[0]
    first = next(line for line in out.splitlines() if line.startswith("| slower"))
    assert "| triton_row |" in first
    assert err.count("\n") == 1
    assert compare(capsys, *both, "--threshold", "8")[0] == 0


def test_broke_exits_with_1_and_works_now_does_not(tmp_path, capsys, lines):
    crashed = [synthetic.row(**lines[0] | {"status": "ok"}), *lines[1:]]
    point = {name: lines[0][name] for name in ("variant", "M", "N")}
    crashed[0] = synthetic.row(status="crash", message="boom", **point)
    code, out, _ = compare(capsys, *tables(tmp_path, lines, crashed))
    assert code == 1
    assert out.startswith("**1 broke, ")
    assert "ok, then crash" in out
    code, out, _ = compare(capsys, *tables(tmp_path, crashed, lines))
    assert code == 0
    assert "1 works now" in out


@pytest.mark.parametrize(
    ("column", "value", "paired"),
    [
        ("driver", "580.1", False),  # it changes torch, too
        ("triton", "3.7.0", True),
    ],
)
def test_other_conditions_are_refused_unless_allowed(
    tmp_path, capsys, lines, column, value, paired
):
    both = tables(tmp_path, lines, [row | {column: value} for row in lines])
    code, out, err = compare(capsys, *both)
    assert (code, out) == (2, "")
    assert f"{column} {lines[0][column][:24]} in OLD, {value[:24]} in NEW" in err
    assert "--allow" in err
    code, out, _ = compare(capsys, *both, "--allow")
    assert code == 0
    assert f"(`--allow`): {column} " in out
    assert ("not over torch" in out) == (not paired)


def test_another_way_of_timing_or_an_error_of_measurement_is_unclear(tmp_path, capsys, lines):
    lines, other = lines[3:], [dict(row) for row in lines[3:]]
    other[0]["timing"] = "host"
    other[1]["flags"] = "faster_than_copy"
    code, out, _ = compare(capsys, *tables(tmp_path, lines, other))
    assert code == 0
    assert "timed in two ways: graph, then host" in out
    assert "not ranked in NEW: flagged faster_than_copy |" in out


def test_markdown_and_figure_are_written_whole_and_reproducibly(tmp_path, capsys, lines):
    both = tables(tmp_path, lines, lines, {compared.point(lines[4]): 1.1})
    _, out, _ = compare(capsys, *both, "--output-dir", tmp_path / "first")
    compare(capsys, *both, "--output-dir", tmp_path / "second")
    names = ["compare.md", "compare.pdf", "compare.png", "compare.svg"]
    assert sorted(path.name for path in (tmp_path / "first").iterdir()) == names
    for name in names:
        first, second = ((tmp_path / part / name).read_bytes() for part in ("first", "second"))
        assert first == second
    assert (tmp_path / "first" / "compare.md").read_text().startswith(out)
    svg = (tmp_path / "first" / "compare.svg").read_text()
    assert svg.count('id="slower 1024x2048 triton_row"') == 1
    assert len(re.findall(r'id="\w+ \d+x\d+ \w+"', svg)) == 9


def test_no_point_in_common(tmp_path, capsys, lines):
    other = [row | {"gpu": "a100", "gpu_name": "NVIDIA A100"} for row in lines]
    code, _, err = compare(capsys, *tables(tmp_path, lines, other))
    assert code == 2
    assert "no point in common: OLD has gpu h200" in err
    assert "NEW has gpu a100" in err


def repack(path, change):
    text = gzip.decompress(path.read_bytes()).decode()
    path.write_bytes(gzip.compress(change(text).encode()))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda t: t.replace("time_us", "time_ms"), "columns are"),
        (lambda t: t[: t.rindex("\n", 0, -1) + 1], "a block lacks a time above 0"),
        (lambda t: t + t.splitlines()[-1] + "\n", "a series comes twice in a block"),
        (lambda t: "".join(x for x in t.splitlines(True) if ",torch," not in x), "no series torch"),
        (lambda t: "".join(x for x in t.splitlines(True) if ",39," not in x), "39 blocks"),
        (lambda t: re.sub(r"[\d.]+\n$", "-1\n", t), "a block lacks a time above 0"),
        (lambda t: re.sub(r"[\d.]+\n$", "fast\n", t), "not numbers"),
        (lambda t: t.splitlines(True)[0], "no samples of h200 softmax"),
    ],
)
def test_samples_that_cannot_be_used_are_refused(tmp_path, capsys, lines, change, complaint):
    path = compared.write_table(tmp_path / "a.csv", lines[:1], 1)
    samples = tmp_path / "a.samples.csv.gz"
    repack(samples, change)
    code, _, err = compare(capsys, path, path)
    assert code == 2
    assert complaint in err
    assert str(samples) in err


def test_broken_or_missing_files_are_refused(tmp_path, capsys, lines):
    path = compared.write_table(tmp_path / "a.csv", lines, 1)
    samples = tmp_path / "a.samples.csv.gz"
    samples.write_bytes(samples.read_bytes()[:-20])
    assert "not readable samples" in compare(capsys, path, path)[2]
    samples.unlink()
    code, _, err = compare(capsys, path, path)
    assert code == 2
    assert f"{samples}: no such file" in err
    (tmp_path / "empty").mkdir()
    assert "no cells in this folder" in compare(capsys, tmp_path / "empty", path)[2]
    assert "no such file" in compare(capsys, tmp_path / "none.csv", path)[2]


def test_a_threshold_below_the_margin_is_refused(tmp_path, capsys):
    code, _, err = compare(capsys, "a", "b", "--threshold", "0.5")
    assert code == 2
    assert "give a smaller --margin" in err


@pytest.mark.parametrize("word", ["nan", "-1", "100", "many"])
def test_a_percentage_is_one(word, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["compare", "a", "b", f"--margin={word}"])
    assert stopped.value.code == 2
