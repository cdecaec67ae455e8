"""The page says what the report says, and what stands in a CSV file stays text."""

import html
import json
import re

import pytest

from analysis import claims, ranking
from analysis.html import data as view
from analysis.html import document
from analysis.markdown import Code, Heading, Prose, Table
from analysis.report import document as markdown
from tests.analysis import synthetic
from tests.browser import made


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of made.rows(), with summary.csv and claims.csv beside it."""
    return made.write(made.rows(), tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def data(page):
    """What is embedded in the page."""
    (text,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text()
    )
    return json.loads(text)


def words(text):
    """The text of HTML without its tags, blanks made alike."""
    text = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", text)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())


def unpacked(column):
    return column if isinstance(column, list) else [column["words"][i] for i in column["codes"]]


def test_every_sentence_and_cell_of_the_report_is_in_the_page(page, tables):
    frame = made.measurements(made.rows())
    ranks = ranking.read(page.parent / "summary.csv")
    command = "snakemake --cores 1 --use-conda"
    found = markdown.sections(
        markdown.Inputs(frame, ranks, claims.check(frame, tables), tables, command)
    )
    text = words(page.read_text())
    count = 0
    for block in (block for blocks in found.values() for block in blocks):
        match block:
            case Prose(said) | Heading(said):
                parts = [words(str(document.inline(said)))]
            case Table(columns, rows, what):
                parts = [what, *columns, *(cell for row in rows for cell in row)]
            case Code(said):
                parts = [said]
        for part in parts:
            count += 1
            assert " ".join(str(part).split()) in text
    assert count > 500


def test_rows_are_those_of_the_measurements(data):
    rows = made.rows()
    assert set(data["rows"]) == set(view.COLUMNS)
    for name in ("variant", "gpu", "message", "status"):
        assert unpacked(data["rows"][name]) == [row[name] for row in rows]
    for name in ("N", "time_us", "of_copy"):
        given = [float(row[name]) if row[name] else None for row in rows]
        assert unpacked(data["rows"][name]) == given


def test_csv_content_is_never_markup(page):
    text = page.read_text()
    assert made.MARKUP not in text
    assert text.count("<script") == 2
    text = re.sub(r"(?s)<script.*?</script>", "", text)
    assert "<img src=x" not in text
    assert "<i>c</i>" not in text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("**a** `b`", "<strong>a</strong> <code>b</code>"),
        ("<b>a</b>", "&lt;b&gt;a&lt;/b&gt;"),
        ("[a](http://example.com)", "[a](http://example.com)"),
        ("![a](http://example.com/a.png)", "![a](http://example.com/a.png)"),
        ("<http://example.com>", "&lt;http://example.com&gt;"),
        ("cuda_oneflow_warp at 2", "cuda_oneflow_warp at 2"),
    ],
)
def test_prose_knows_emphasis_and_code_only(given, expected):
    assert document.inline(given) == expected


def test_nothing_may_be_loaded_and_only_own_scripts_run(page):
    text = page.read_text()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    rules = dict(rule.split(" ", 1) for rule in html.unescape(policy).split("; "))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    assert rules["script-src"].count("sha256-") == 1
    links = re.findall(r' (?:src|href)="([^"]*)"', re.sub(r"(?s)<script.*?</script>", "", text))
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)


def test_figures_know_what_only_controls_do_and_the_table_does_not(tmp_path):
    row = synthetic.row(variant="triton_row")
    text = made.write([row], tmp_path).read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    assert unpacked(data["rows"]["variant"]) == ["triton_row"]
    assert unpacked(data["controls"]["variant"]) == ["torch_softmax"]
    (entry,) = (entry for entry in data["charts"] if entry["own"])
    assert entry["own"] == [0, 1]
    assert entry["note"].startswith("torch_softmax: also as the other rows' control")
    assert "torch_softmax" in data["looks"]
