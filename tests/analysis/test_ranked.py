"""Which rows rank is the configuration's choice, from collecting to the last sentence."""

import csv
from pathlib import Path

import pytest
import yaml

from analysis import __main__ as cli
from analysis import claims, frame, ranking, schema
from analysis.figures.curves import draw_time
from analysis.figures.heatmap import draw_speedup
from analysis.merge import collect, merge_rows
from analysis.panels import select
from analysis.report import document, quality
from analysis.report.markdown import render
from tests.analysis import synthetic

CONFIG = Path(__file__).resolve().parents[2] / "config.yaml"
THROTTLED, TOO_FAST = "launch_bound throttled", "aa_biased faster_than_copy"
FLAGS = {
    "torch_softmax": "",
    "triton_row": "launch_bound aa_biased",
    "triton_online": THROTTLED,
    "triton_fused": TOO_FAST,
}
EVERY = set(FLAGS)


@pytest.fixture
def some():
    """One point; the fastest are too fast, then throttled, then only warned of, then torch."""
    speeds = zip(FLAGS, (1.0, 1.2, 1.4, 9.0), strict=True)
    return [synthetic.with_speedup(v, variant=name, flags=FLAGS[name]) for name, v in speeds]


@pytest.fixture
def merged(some, tmp_path):
    cells = [synthetic.write_row(tmp_path, row) for row in some]
    merge_rows(cells, "online_softmax", tmp_path / "h200.csv")
    return tmp_path / "h200.csv"


def ranked(rows_):
    table = ranking.summarise(rows_).dropna(subset="rank").sort_values("rank")
    return table["variant"].to_list()


CHOICES = [
    (schema.UNRANKED, EVERY - {"triton_fused"}),
    (["throttled"], EVERY - {"triton_online"}),
    (["throttled", "faster_than_copy"], {"torch_softmax", "triton_row"}),
    (["aa_biased"], {"torch_softmax", "triton_online"}),
    ([], EVERY),
]


@pytest.mark.parametrize(("unranked", "expected"), CHOICES)
def test_collected_rows_say_whether_they_rank(merged, unranked, expected):
    out = merged.with_name("all.csv")
    assert collect([merged], [], out, unranked) == 4
    with out.open(newline="") as file:
        found = list(csv.DictReader(file))
    assert list(found[0]) == [*schema.COLLECTED, *schema.COLUMNS]
    assert {row["variant"]: row["ranked"] for row in found} == {
        name: "true" if name in expected else "false" for name in EVERY
    }
    assert set(ranked(frame.load(out))) == expected


def test_figures_leave_it_out_and_name_the_flag(measurements, some, tables):
    def words(figure):
        return [text.get_text() for part in (figure, *figure.axes) for text in part.texts]

    def select_with(unranked):
        found = ranking.ranked(measurements(some, unranked=unranked))
        return select(found, tables, "h200", "float32", "online_softmax")

    chosen = select_with(["throttled"])
    figure = draw_time(chosen)
    assert "triton_online" not in {line.get_gid() for line in figure.axes[0].lines}
    assert any("without a time that counts: 1 not ranked (throttled)" in t for t in words(figure))
    assert "throttled" in words(draw_speedup(chosen))
    chosen = select_with(list(schema.flags()))
    assert "triton_online" not in {line.get_gid() for line in draw_time(chosen).axes[0].lines}
    assert "not\nranked" in words(draw_speedup(chosen))
    chosen = select_with([])
    assert "triton_fused" in {line.get_gid() for line in draw_time(chosen).axes[0].lines}
    assert not any("without a time that counts" in text for text in words(draw_time(chosen)))


def report_of(found, tables, folder, unranked):
    ranking.write(found, folder / "summary.csv")
    claims.write(found, tables, folder / "claims.csv")
    summary, judged = ranking.read(folder / "summary.csv"), claims.read(folder / "claims.csv")
    inputs = document.Inputs(found, summary, judged, tables, "make run", unranked=unranked)
    document.write(inputs, folder, folder / "report.md")
    return (folder / "report.md").read_text()


def test_the_report_says_which_flags_keep_a_row_from_ranking(measurements, some, tables, tmp_path):
    unranked = ["throttled", "faster_than_copy"]
    text = report_of(measurements(some, unranked=unranked), tables, tmp_path, unranked)
    (line,) = [line for line in text.splitlines() if "unranked_flags" in line]
    assert line.startswith("A row flagged `throttled` or `faster_than_copy` is not ranked")
    assert "2 rows here" in line
    assert "**triton_row** wins at 1 of 1 matrix" in text
    assert ". Not ranked: 2 rows (faster_than_copy, throttled)." in text
    assert "Not ranked" not in report_of(measurements(some, unranked=[]), tables, tmp_path, [])
    assert "No flag keeps a row from ranking" in render(quality.flags(measurements(some), []))
    plain = render(quality.flags(measurements([synthetic.row()]), schema.UNRANKED))
    assert "A row flagged `faster_than_copy` is not ranked" in plain
    assert plain.endswith("No row carries a flag.\n")


def test_an_unknown_flag_is_refused(merged, capsys):
    out = merged.with_name("all.csv")
    with pytest.raises(SystemExit) as stopped:
        cli.main(["collect", "--unranked-flags", "thortled", "--output", str(out), str(merged)])
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert "'thortled'" in message
    assert all(flag in message for flag in schema.flags())
    assert not out.exists()


def test_the_default_is_that_of_the_configuration():
    assert yaml.safe_load(CONFIG.read_text())["unranked_flags"] == list(schema.UNRANKED)
    assert set(schema.UNRANKED) <= set(schema.flags())
