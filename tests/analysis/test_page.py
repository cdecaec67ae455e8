"""The page as text: what it may load and run, and its data. tests/browser opens it."""

import base64
import gzip
import html
import json
import re

import kernels
from analysis.report.page import payload
from measure import ROOT
from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of
from tests.browser import made


def data_of(page):
    """The data of a page."""
    packed = re.search(r'id="payload">(.*?)</script>', page.read_text(encoding="utf-8"))[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_nothing_may_be_loaded_and_only_own_scripts_run(tmp_path):
    page = made.page(frame_of(made.rows()), tmp_path).read_text(encoding="utf-8")
    assert made.MARKUP not in page
    assert page.count("<script") == 2
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in html.unescape(policy).split("; "))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    assert rules["script-src"].count("sha256-") == 1
    links = re.findall(r' (?:src|href)="([^"]*)"', re.sub(r"(?s)<script.*?</script>", "", page))
    sections = [link for link in links if link.startswith("#")]
    documents = [link for link in links if not link.startswith(("#", "https://"))]
    articles = [link for link in links if link.startswith("https://")]
    sources = (ROOT / "data/published/sources.yaml").read_text(encoding="utf-8")
    assert all(link in sources for link in articles)
    assert sections
    assert documents
    assert all(re.fullmatch(r"((\.\./)+|report/)[\w./]*(#[\w-]+)?", link) for link in documents), (
        documents
    )


def test_another_projects_kernel_says_how_to_call_it_elsewhere():
    peers = [name for name in kernels.names() if kernels.family(name) == kernels.PEERS]
    for name in peers:
        use = payload.about(name).partition(" Use: ")[2]
        assert re.match("`pip install [^`]+`; |`torch.compile", use), name
    assert "from quack import softmax`." in payload.about("peer_quack")
    assert payload.about("triton_row").endswith('kernels.load("triton_row")` in a clone.')


def test_torch_is_drawn_as_the_control_of_rows_and_is_no_row(tmp_path):
    times = {"time_us": 10.0, "torch_us": 20.0, "of_copy": 0.5, "of_meet": 0.8}
    rows = [synthetic.with_speedup(2.0, variant="triton_row", **times)]
    data = data_of(made.page(frame_of(rows), tmp_path))
    assert [line["variant"] for line in data["rows"]] == ["triton_row"]
    ranks = {
        i: (s["variant"], s["rank"]) for i, s in enumerate(data["sizes"]) if s["gpu"] == "h200"
    }
    assert list(ranks.values()) == [("triton_row", 1), ("torch_softmax", None)]
    assert sorted(data["charts"][0]["lines"]) == [[i] for i in ranks]
    assert data["charts"][0]["limit"] == [[1024, 8.0]], "the nearer of both rooflines"
    assert data["sizes"][0]["of_limit"] == 0.8
