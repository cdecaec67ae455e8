"""`compare` as a person uses it: what it reads, refuses, prints, writes, and what it finds."""

import itertools

import numpy as np
import pytest

from analysis import __main__ as cli
from analysis import compare as comparing
from analysis import exit_codes
from analysis.compare import judgement
from analysis.merge import collect, merge_rows
from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of

VARIANTS, SIZES = ["torch_softmax", "triton_row", "triton_online"], [1024, 2048, 4096]
CODE = {"measure_sha256": "m" * 64, "kernel_sha256": "k" * 64}
LIMITS = comparing.Limits()
MANY, MINE = [2**i for i in range(10, 18)], [f"mine_{i}" for i in range(8)]
SPEEDUP = ("speedup", "speedup_low", "speedup_high")


def rows(seed, slower=None, sizes=SIZES, variants=VARIANTS, replicates=1, **columns):
    """Rows of a run; a process deviates by 0.1 %; `slower`: (variant, N) -> factor of time."""
    rng, made = np.random.default_rng(seed), []
    for n, variant, replicate in itertools.product(sizes, variants, range(1, replicates + 1)):
        own, control = np.exp(0.001 * rng.standard_t(6, 2))
        made.append(synthetic.row(variant=variant, N=n, replicate=replicate, **CODE | columns))
        factor = own * (slower or {}).get((variant, n), 1.0)
        multiply(made[-1], factor, "time_us")
        multiply(made[-1], 1 / factor, *SPEEDUP, "of_copy")
        multiply(made[-1], control, "torch_us")
    return made


def multiply(row, factor, *names):
    row |= {name: str(float(row[name]) * factor) for name in names}


def judged(first, second, allow=False):
    return comparing.compare(frame_of(first), frame_of(second), LIMITS, allow).changes


@pytest.fixture
def compare(tmp_path, capsys):
    """compare(old, new, *options): exit code, output and errors; rows become recorded tables."""

    def call(old, new, *options):
        paths = [
            synthetic.write_csv(tmp_path / f"{name}.csv", run) if type(run) is list else run
            for name, run in (("old", old), ("new", new))
        ]
        code = cli.main(["compare", *map(str, [*paths, *options])])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.mark.parametrize(
    ("factor", "replicates", "torch"), [(1.03, 1, 1), (1.02, 3, 1), (1.1, 1, 1.2), (1.1, 1, 1.05)]
)
def test_a_slowdown_is_found_and_the_rest_is_not(factor, replicates, torch):
    """Also where another driver made torch slower, and the copy is the control."""
    planted = {(MINE[i], n): factor for i in (0, 5) for n in MANY}
    old, new = (rows(i, {2: planted}.get(i), MANY, MINE, replicates) for i in (1, 2))
    for row in new if torch > 1 else ():
        row["driver"] = "580.1"
        multiply(row, torch, "torch_us", *SPEEDUP)
    changes = judged(old, new, allow=torch > 1)
    hit = np.array([(key[-1], key[-2]) in planted for key in changes.index])
    assert (changes["change"][hit] == comparing.SLOWER).mean() >= 0.9
    assert set(changes["change"][~hit]) <= {comparing.SAME, comparing.UNCLEAR}
    assert (changes["change"][~hit] == comparing.SAME).mean() > 0.8
    assert (changes["change"].iloc[:14] == comparing.SLOWER).all(), "the worst come first"


def test_row_files_a_recorded_table_and_measurements_of_one_run_are_the_same(tmp_path, compare):
    lines = rows(1, sizes=MANY)
    lines.append(synthetic.row(status="unsupported", variant="triton_fused", message="no"))
    files = [synthetic.write_row(tmp_path, row) for row in lines]
    merge_rows(files, "mine", tmp_path / "h200.csv")
    table = tmp_path / "measurements.csv"
    collect([tmp_path / "h200.csv"], [], table)
    for new in (lines, table):
        code, out, _ = compare(tmp_path / "rows", new)
        assert code == 0
        assert out.splitlines()[0] == "**16 same, 1 ok in neither of 17 points: passed.**"
    lines[1]["flags"] = "overlaps_calls"
    _, out, _ = compare(lines, lines)
    assert "in it only" not in out, "torch's own rows are the control"
    assert "| not ranked in NEW: overlaps_calls |" in out


def test_an_unclear_point_says_why():
    """The interval of a difference reaches into the margin, or is beyond it as one of many."""
    for factor, note in ((1.01, judgement.WIDE), (1.013, judgement.BY_CHANCE)):
        runs = rows(1, None, MANY), rows(2, {("triton_row", 2048): factor}, MANY)
        changes = judged(*runs)
        assert changes["note"][changes["change"] == comparing.UNCLEAR].tolist() == [note]


def test_a_point_that_broke_or_is_slower_than_the_threshold_fails(compare):
    """Each has an exit code."""
    fine = rows(1, variants=MINE)
    slower = rows(2, {("mine_3", 2048): 1.05}, variants=MINE)
    broken = [*fine[1:], synthetic.row(variant=MINE[0], N=SIZES[0], status="crash")]
    checked = "interpreted", "incorrect"
    on_a_cpu = [[synthetic.row(variant=MINE[0], N=8, status=status)] for status in checked]
    for old, new, options, expected, words in (
        (broken, fine, [], 0, ["1 works now", ": passed.**"]),
        (fine, broken, [], 4, ["**1 broke, ", "ok, then crash"]),
        (*on_a_cpu, [], 4, ["**1 broke", "interpreted, then incorrect"]),
        (fine, slower, ["--threshold", "8"], 0, ["**1 slower, "]),
        (
            fine,
            slower,
            [],
            exit_codes.SLOWER,
            ["**1 slower, ", ": 1 point failed.**", "| mine_3 |"],
        ),
    ):
        code, out, err = compare(old, new, *options)
        assert (code, err.count("\n")) == (expected, 1)
        assert all(text in out for text in words), out


@pytest.mark.parametrize(
    ("column", "value", "paired"),
    [
        ("driver", "580.1", False),  # it changes torch, too
        ("gpu_uuid", "GPU-2", False),
        ("native_overrides", "absent", False),
        ("switches", "CUDA_FORCE_PTX_JIT=1", False),
        ("triton", "3.7.0", True),
        ("measure_sha256", "n" * 64, True),
    ],
)
def test_other_conditions_are_refused_unless_allowed(compare, column, value, paired):
    runs = rows(1), rows(2, **{column: value})
    code, out, err = compare(*runs)
    assert (code, out) == (2, "")
    assert f"{column} {runs[0][0][column][:24]} in OLD, {value[:24]} in NEW" in err
    assert "--allow" in err
    code, out, _ = compare(*runs, "--allow")
    assert code == 0
    assert f"(`--allow`): {column} " in out
    assert ("over the copy" in out) == (not paired)


def test_every_replicate_counts_as_a_condition(tmp_path, compare):
    old, new = rows(1, replicates=3), rows(2, replicates=3)
    for row in old:
        if row["replicate"] == "3":
            row |= {"gpu_uuid": "GPU-2", "driver": "580.1"}
    code, _, err = compare(old, new)
    assert code == 2
    assert "driver 570" in err
    assert "and 580.1 in OLD" in err
    loaded = comparing.load_run(tmp_path / "old.csv")
    assert set(loaded["unranked_by"][loaded["gpu_uuid"] == "GPU-2"]) == {"other_environment"}


EDITED = {"kernel_sha256": "e" * 64}


def failing(status, **columns):
    """Rows of a run of which no point was timed."""
    return [
        row if row["variant"] == "torch_softmax" else synthetic.row(**name | CODE | columns)
        for row in rows(2)
        for name in [{"variant": row["variant"], "N": row["N"], "status": status}]
    ]


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        (rows(1), failing("compile_error"), 4, "6 points failed; nothing of triton_online, trit"),
        (failing("crash"), failing("crash"), 4, "nothing of triton_online, triton_row could be"),
        # a machine whose GPU is gone measures torch, and interprets what is in Triton
        (failing("interpreted"), failing("interpreted", **EDITED), 4, "nothing of triton_online"),
        (failing("unavailable"), rows(2, **EDITED), 4, "nothing of triton_online, triton_row"),
    ],
)
def test_what_was_not_compared_has_not_passed(old, new, code, words, compare):
    exit_code, out, err = compare(old, new)
    assert exit_code == code
    assert words in out.splitlines()[0]
    assert "passed" not in out
    assert "Traceback" not in err


def test_a_changed_kernel_must_have_been_compared(compare):
    """At a point at least; a kernel that did not change may be unsupported everywhere."""

    def without(name, **code):
        kept = [row for row in rows(2, variants=MINE) if row["variant"] != name]
        columns = {"variant": name, "status": "unsupported"} | CODE | code
        return [*kept, *(synthetic.row(**columns, N=n) for n in SIZES)]

    assert compare(rows(1, variants=MINE), without("mine_0", **EDITED))[0] == exit_codes.BROKE
    assert compare(without("mine_0"), without("mine_0"))[0] == exit_codes.DONE
    code, out, _ = compare(without("mine_0"), without("mine_0", **EDITED))
    assert code == exit_codes.BROKE
    assert "nothing of mine_0 could be compared" in out.splitlines()[0]


@pytest.mark.parametrize("old", [["torch_softmax"], ["torch_softmax", "triton_row"]])
@pytest.mark.parametrize("status", ["ok", "crash"])
def test_a_kernel_that_only_new_has_is_new_and_must_have_been_timed(old, status, compare):
    new = rows(2, variants=[*old, "mine"])
    if status != "ok":
        crashed = {"variant": "mine", "status": status} | CODE
        new = [*rows(2, variants=old), *(synthetic.row(N=n, **crashed) for n in SIZES)]
    code, out, _ = compare(rows(1, variants=old), new)
    compared, _, verdict = out.splitlines()[0].partition(": ")
    assert (compared == "**no point to compare") == ("triton_row" not in old)
    if status == "ok":
        assert (code, verdict) == (0, "passed; mine is new.**")
    else:
        assert (code, verdict) == (exit_codes.BROKE, "mine is new, and no point of it was timed.**")


def test_a_config_may_be_unsupported_where_another_of_its_kernel_was_compared(compare):
    configs = ["triton_row", "triton_row__b1"]
    old, new = (rows(i, variants=configs, **code) for i, code in ((1, {}), (2, EDITED)))
    lost = {"variant": configs[1], "status": "unsupported"}
    for run, code in ((old, CODE), (new, CODE | EDITED)):
        kept = [row for row in run if row["variant"] == configs[0]]
        run[:] = [*kept, *(synthetic.row(**lost | code, N=n) for n in SIZES)]
    assert compare(old, new)[0] == exit_codes.DONE


@pytest.mark.parametrize("change", [{"seed": "1"}, {"fingerprint": "00000000"}])
def test_rows_of_another_seed_or_fingerprint_do_not_count(change, tmp_path, compare):
    """As a folder of rows keeps them after a change: also further replicates."""
    old, new = rows(1, variants=MINE), rows(2, variants=MINE)
    for replicate in ("1", "2"):
        changed = {"time_us": "99", "started_at": "2026-11-01T10:00:00Z"} | change
        synthetic.write_row(tmp_path, new[1] | changed | {"replicate": replicate})
    for row in new:
        synthetic.write_row(tmp_path, row)
    code, out, _ = compare(old, tmp_path / "rows")
    assert code == 0
    assert "| 99" not in out
    loaded = comparing.load_run(tmp_path / "rows")
    assert len(loaded) == len(new)
    assert set(loaded["seed"]) == {3407}


@pytest.mark.parametrize("board", [{}, {"gpu_uuid": "GPU-2"}])
def test_a_run_that_was_interrupted_has_not_passed(board, compare):
    """Its points of an older code are named, and do not count, on whichever board the newer ran."""
    old, new = rows(1, variants=MINE), rows(2, variants=MINE)
    new[0] |= EDITED | {"started_at": "2026-11-21T10:00:00Z"} | board  # mine_0 at the first size
    code, out, _ = compare(old, new, "--allow")
    assert code == exit_codes.BROKE
    assert "2 points of an older code, so finish the run" in out.splitlines()[0]
    assert out.count("not ranked in NEW: other_code") == len(SIZES) - 1


def test_torch_s_own_rows_are_judged_over_the_copy_alone():
    """Its ratio over itself is 1 with certainty: such p-values would let doubtful ones pass."""
    assert "torch_softmax" not in judged(rows(1), rows(2)).index.get_level_values("variant")
    changes = judged(rows(1), rows(2, driver="580.1"), allow=True)
    assert "torch_softmax" in changes.index.get_level_values("variant")


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [("k" * 64, "k" * 64, "same"), ("k" * 64, "e" * 64, "changed"), ("", "k" * 64, ""),
     ("k" * 64, "", "")],
)  # fmt: skip
def test_the_code_is_the_same_changed_or_unknown(before, after, word):
    runs = (rows(i, kernel_sha256=sha, variants=MINE[:1]) for i, sha in ((1, before), (2, after)))
    assert set(judged(*runs)["code"]) == {word}


def test_a_run_over_which_the_driver_changed_is_not_passed(compare):
    old, new = rows(1), rows(2)
    new[4] |= {"driver": "590.1"}
    code, out, _ = compare(old, new, "--allow")
    assert code == exit_codes.BROKE
    assert "not ranked in NEW: other_environment |" in out
    assert "1 point of another driver, torch or Triton than the others of the run" in out


def test_what_cannot_be_compared_is_refused(tmp_path, compare):
    (tmp_path / "empty").mkdir()
    lines = rows(1)
    of_a100 = [row | {"gpu": "a100", "gpu_name": "NVIDIA A100"} for row in lines]
    collect([], [], tmp_path / "none_measured.csv")
    for new, complaint in (
        (of_a100, "no point in common: OLD has gpu h200"),
        (lines[:1], "the only points in common are of torch_softmax"),
        (lines[:1] * 2, "duplicate row"),
        (tmp_path / "empty", "no rows that were measured; give a folder of row files"),
        (tmp_path / "none.csv", "no such file or folder; give a folder of row files"),
        (tmp_path / "none_measured.csv", "no rows that were measured"),
        (tmp_path, ".csv: not the file of a single row; give a folder of row files"),
    ):
        code, _, err = compare(lines, new)
        assert code == 2
        assert complaint in err
        assert "delete" not in err
    assert "give a smaller --margin" in compare("a", "b", "--threshold", "0.5")[2]


@pytest.mark.parametrize("word", ["nan", "-1", "100", "many"])
def test_a_percentage_is_one(word, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["compare", "a", "b", f"--margin={word}"])
    assert stopped.value.code == 2
    assert f"{word} is not a percentage between 0 and 100" in capsys.readouterr().err


def test_a_version_is_shown_as_text(compare):
    """What a table says is neither HTML nor Markdown."""
    _, out, _ = compare(rows(1), rows(2, triton="<img src=x> `a`|[b](c)"), "--allow")
    assert "&lt;img src=x&gt; \\`a\\`|\\[b](c)" in out
    assert "<img" not in out
