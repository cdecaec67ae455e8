"""The rules as a reader meets them: complete, and as the picture in README shows."""

import re

import pytest

from measure.fingerprint import ROOT
from tests.workflow.runner import Runner

PICTURE = ROOT / "docs/figures/rulegraph.svg"


def rules() -> dict[str, str]:
    """The text of every rule."""
    text = "\n\n\n".join(
        p.read_text() for p in [ROOT / "Snakefile", *ROOT.glob("workflow/rules/*")]
    )
    found = dict(re.findall(r"^rule (\w+):\n((?:(?: .*)?\n)+)", text, re.M))
    assert len(found) == len(re.findall("^rule ", text, re.M))
    return found


@pytest.mark.parametrize("name", rules())
def test_every_rule_has_what_snakemake_shows_of_it(name):
    text = rules()[name]
    assert re.match(r' +"""[^"]+\."""\n', text), "a docstring, for --list-rules"
    if re.search(r"^ +(shell|script):", text, re.M):
        for directive in ("log", "conda", "message"):
            assert re.search(rf"^ +{directive}:", text, re.M), directive
        # a row has its seconds and its memory; see docs/snakemake.md
        assert bool(re.search("^ +benchmark:", text, re.M)) == (name != "point")


def test_the_picture_shows_the_rules_as_they_are(project):
    done = Runner(project)("--rulegraph")
    assert done.returncode == 0, done.stderr
    labels = dict(re.findall(r'^\s*(\d+)\[label = "(\w+)"', done.stdout, re.M))
    edges = re.findall(r"^\s*(\d+) -> (\d+)$", done.stdout, re.M)
    drawn = PICTURE.read_text()
    shown = dict(re.findall(r"<title>(\d+)</title>.*?<text[^>]*>(\w+)</text>", drawn, re.S))
    arrows = re.findall(r"<title>(\d+)&#45;&gt;(\d+)</title>", drawn)
    assert len(edges) > 10
    what_to_do = "the rules have changed: make rulegraph"
    assert {(shown[a], shown[b]) for a, b in arrows} == {
        (labels[a], labels[b]) for a, b in edges
    }, what_to_do
