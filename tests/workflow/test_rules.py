"""Each rule has what Snakemake shows of it: a docstring, a message, a log, an environment."""

import re

import pytest

from measure.fingerprint import ROOT


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
