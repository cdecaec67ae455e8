"""The page has the rows as data, loads nothing, and what stands in a CSV file stays text."""

import html
import json
import re

import pytest

from analysis.report import page as view
from tests.analysis import synthetic
from tests.browser import made


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The text of the page of made.rows()."""
    folder = tmp_path_factory.mktemp("page")
    return made.page(made.measurements(made.rows()), folder).read_text()


def payload(page):
    return json.loads(re.search(r'id="payload">(.*?)</script>', page)[1])


def unpacked(column):
    if isinstance(column, list):
        return column
    runs = column.get("runs") or [(code, 1) for code in column["codes"]]
    return [column["words"][code] for code, count in runs for _ in range(count)]


def test_rows_are_those_of_the_measurements(page):
    data, rows = payload(page)["rows"], made.rows()
    assert set(data) == set(view.OF_ROWS)
    for name in ("variant", "gpu", "message", "status"):
        assert sorted(unpacked(data[name])) == sorted(row[name] for row in rows)
    given = sorted(float(row["time_us"]) for row in rows if row["time_us"])
    assert sorted(value for value in data["time_us"] if value) == pytest.approx(given, rel=5e-4)


def test_csv_content_is_never_markup(page):
    assert made.MARKUP not in page
    assert page.count("<script") == 2
    text = re.sub(r"(?s)<script.*?</script>", "", page)
    assert "<img src=x" not in text
    assert "<i>c</i>" not in text


def test_nothing_may_be_loaded_and_only_own_scripts_run(page):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in html.unescape(policy).split("; "))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    assert rules["script-src"].count("sha256-") == 1
    links = re.findall(r' (?:src|href)="([^"]*)"', re.sub(r"(?s)<script.*?</script>", "", page))
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)


def test_torch_is_drawn_as_the_control_of_rows_and_is_no_row(tmp_path):
    rows = [synthetic.row(variant="triton_row")]
    data = payload(made.page(made.measurements(rows), tmp_path).read_text())
    assert unpacked(data["rows"]["variant"]) == ["triton_row"]
    own = [i for i, gpu in enumerate(unpacked(data["sizes"]["gpu"])) if gpu == "h200"]
    names = [unpacked(data["sizes"]["variant"])[i] for i in own]
    assert dict(zip(names, data["sizes"]["rank"], strict=False)) == {
        "triton_row": 1,
        "torch_softmax": None,
    }
    assert data["charts"][0]["rows"] == own
