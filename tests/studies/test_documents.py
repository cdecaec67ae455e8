"""What stands in docs/ is what the commands print."""

import re

import pytest

from measure.fingerprint import ROOT
from studies import inserts

DOCUMENTS = [
    path
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    if inserts.BLOCK.search(path.read_text())
]


def test_there_are_documents():
    assert DOCUMENTS


@pytest.mark.slow  # it runs every command; the test below has what finds and replaces their output
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_is_current(path, capsys):
    assert inserts.main(["--check", str(path)]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_what_a_document_links_to_exists(path):
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text())
    assert links
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_a_block_is_replaced_and_checked(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(
        "before\n<!-- output of: python -c 'print(6 * 7)' -->\nold\n<!-- end -->\nafter\n"
    )
    assert inserts.main(["--check", str(path)]) == 1
    assert "old" in path.read_text()
    assert inserts.main([str(path)]) == 0
    assert path.read_text() == (
        "before\n<!-- output of: python -c 'print(6 * 7)' -->\n\n42\n\n<!-- end -->\nafter\n"
    )
    assert inserts.main(["--check", str(path)]) == 0
